/** A proxy's IP families in; the source address of connections to its own workload out. */
import { create } from "@bufbuild/protobuf";
import { type BindConfig, BindConfigSchema } from "../../gen/envoy/config/core/v3/address_pb.js";
import type { BuildFacet } from "../../model/index.ts";
import { socketAddress } from "./address.ts";

/** Capture rules let connections from these addresses pass, else they would come back to the proxy. */
const ipv4 = "127.0.0.6";
const ipv6 = "::6";

/** `each`: one per family, where Envoy meets destinations of both. */
export function loopBind(proxy: BuildFacet, families: "one" | "each"): BindConfig {
  const both = families === "each" && proxy.ipv4 && proxy.ipv6;
  return create(BindConfigSchema, {
    sourceAddress: socketAddress(proxy.ipv4 ? ipv4 : ipv6, 0),
    extraSourceAddresses: both ? [{ address: socketAddress(ipv6, 0) }] : [],
  });
}
