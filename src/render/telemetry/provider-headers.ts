/** Headers that a provider wants with its calls in; Envoy's header options out. */
import { create } from "@bufbuild/protobuf";
import {
  type HeaderValue,
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
  HeaderValueSchema,
} from "../../gen/envoy/config/core/v3/base_pb.js";
import type { ExtensionProviderHttpHeader } from "../../model/index.ts";

type Headers = readonly ExtensionProviderHttpHeader[] | undefined;

export function headersToAdd(headers: Headers): HeaderValueOption[] {
  return headerValues(headers).map((header) =>
    create(HeaderValueOptionSchema, {
      header,
      appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    }),
  );
}

/** Values named by the control plane's environment (`envName`) are not read here: they come out empty. */
export function headerValues(headers: Headers): HeaderValue[] {
  return (headers ?? []).map(({ name, value }) => create(HeaderValueSchema, { key: name ?? "", value: value ?? "" }));
}
