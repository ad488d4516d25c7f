/** Matches and filters in; filter chains and network filters out. */
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type Filter,
  type FilterChainMatch,
  FilterChainMatchSchema,
  FilterSchema,
} from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { type AdditionalAddress, AdditionalAddressSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { formatIp, parseIp, parsePrefix } from "../../lib/index.ts";
import { address } from "./address.ts";

export const wildcardCidr = "0.0.0.0";

export interface ChainMatch {
  readonly serverNames?: readonly string[];
  /** Addresses and CIDR ranges; what is neither is left out. */
  readonly destinations?: readonly string[];
  readonly destinationPort?: number;
  readonly applicationProtocols?: readonly string[];
  /** `tls`, `raw_buffer`, or "" for both. */
  readonly transport?: string;
}

export function chainMatch(match: ChainMatch): FilterChainMatch {
  return create(FilterChainMatchSchema, {
    ...(match.destinationPort ? { destinationPort: match.destinationPort } : {}),
    transportProtocol: match.transport ?? "",
    applicationProtocols: [...(match.applicationProtocols ?? [])],
    serverNames: [...(match.serverNames ?? [])],
    prefixRanges: (match.destinations ?? []).flatMap(cidrRange),
  });
}

function cidrRange(text: string): { addressPrefix: string; prefixLen: number }[] {
  const prefix = readPrefix(text);
  if (!prefix || prefix.addressPrefix === wildcardCidr) return [];
  return [{ addressPrefix: prefix.addressPrefix, prefixLen: prefix.prefixLen }];
}

export interface Range {
  readonly addressPrefix: string;
  readonly prefixLen: number;
  readonly bytes: Uint8Array;
}

/** An address counts as the range that holds it alone. */
export function readPrefix(text: string): Range | undefined {
  const ip = parseIp(text);
  if (ip) return { addressPrefix: formatIp(ip), prefixLen: ip.length * 8, bytes: ip };
  const prefix = parsePrefix(text);
  if ("error" in prefix) return undefined;
  return { addressPrefix: formatIp(prefix.address), prefixLen: prefix.bits, bytes: prefix.address };
}

export function networkFilter(name: string, config: Any): Filter {
  return create(FilterSchema, { name, configType: { case: "typedConfig", value: config } });
}

export function additionalAddresses(binds: readonly string[], port: number): AdditionalAddress[] {
  return binds.map((bind) => create(AdditionalAddressSchema, { address: address(bind, port) }));
}
