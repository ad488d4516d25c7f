/** An address or range as users write it in; Envoy's range out, undefined for what is neither. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CidrRangeSchema } from "../../gen/envoy/config/core/v3/address_pb.js";
import { readPrefix } from "../build/listener-chain.ts";

export function cidr(text: string): MessageInitShape<typeof CidrRangeSchema> | undefined {
  const range = readPrefix(text);
  return range && { addressPrefix: range.addressPrefix, prefixLen: range.prefixLen };
}
