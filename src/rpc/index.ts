export type { Call } from "./call.ts";
export { type ClientTls, createRpcClient, type RpcClient, type RpcClientOptions } from "./client.ts";
export type { CallOptions, ClientStream } from "./client-stream.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export { type Codec, type Method, type Payload, protoCodec, protoMethod, rawCodec } from "./method.ts";
export type { Peer, PeerTls } from "./peer.ts";
export { bidi, type Route, type Send, serverStream, unary } from "./route.ts";
export {
  createRpcServer,
  type ListenAddress,
  type RpcServer,
  type RpcServerOptions,
  type ServerTls,
} from "./server.ts";
export { RpcError, type Status, status, toRpcError } from "./status.ts";
