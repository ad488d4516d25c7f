/** Host and port, or a `unix://` path, in; an Envoy address out. */
import { create } from "@bufbuild/protobuf";
import {
  type Address,
  AddressSchema,
  type SocketAddress,
  SocketAddressSchema,
} from "../../gen/envoy/config/core/v3/address_pb.js";

const unixPrefix = "unix://";

/** Port 0 never names a TCP server: Istio takes the host for a path then. */
export function address(host: string, port: number): Address {
  if (port !== 0) return socket(host, port);
  const path = host.startsWith(unixPrefix) ? host.slice(unixPrefix.length) : host;
  return create(AddressSchema, { address: { case: "pipe", value: { path } } });
}

export function socket(host: string, port: number): Address {
  return create(AddressSchema, { address: { case: "socketAddress", value: socketAddress(host, port) } });
}

export function socketAddress(host: string, port: number): SocketAddress {
  return create(SocketAddressSchema, { address: host, portSpecifier: { case: "portValue", value: port } });
}
