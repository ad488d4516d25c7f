/** One HTTP filter of a connection manager: what it is told about its place, and how it is written down. */
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { InboundFacet, OutboundFacet, Protocol } from "../../model/index.ts";
import type { View } from "../view.ts";

/** On the way out there are no policies: only what counts there can be read. */
export type HttpPlace = PlaceFields &
  (
    | { readonly direction: "outbound"; readonly view: View<OutboundFacet> }
    | { readonly direction: "inbound" | "gateway"; readonly view: View<InboundFacet> }
  );

interface PlaceFields {
  readonly protocol: Protocol;
  /** 0 where the chain is for any port. */
  readonly port: number;
  /** Host of a service with a wildcard name that Envoy resolves per request; undefined for all others. */
  readonly dynamicHost: string | undefined;
}

/** A pass adds its filters, or none where it has nothing to do. */
export type HttpFilterPass = (place: HttpPlace) => readonly HttpFilter[];

export function httpFilter(name: string, config: Any): HttpFilter {
  return create(HttpFilterSchema, { name, configType: { case: "typedConfig", value: config } });
}
