/** The peer of a connection and the forwarded addresses in; who Envoy takes for the client out. */
import type { HttpConnectionManager } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { parseIp } from "../../lib/index.ts";
import { type HttpRequest, headerOf, withHeader } from "../request.ts";

type Settings = Pick<HttpConnectionManager, "useRemoteAddress" | "xffNumTrustedHops" | "skipXffAppend">;

export interface Remote {
  readonly address: string;
  /** With the peer added to X-Forwarded-For, where the proxy is an edge. */
  readonly request: HttpRequest;
}

export function remoteAddress(
  request: HttpRequest,
  peer: string,
  { useRemoteAddress, xffNumTrustedHops: hops, skipXffAppend }: Settings,
): Remote {
  const forwarded = headerOf(request.headers, "x-forwarded-for");
  const list = forwarded === undefined ? [] : forwarded.split(",").map((part) => part.trim());
  const told = (fromRight: number): string => {
    const address = list.at(-1 - fromRight) ?? "";
    return list.length > fromRight && parseIp(address) ? address : peer;
  };
  if (useRemoteAddress !== true) return { address: told(hops), request };
  const address = hops > 0 ? told(hops - 1) : peer;
  if (skipXffAppend) return { address, request };
  const appended = [...list, peer].join(",");
  return { address, request: { ...request, headers: withHeader(request.headers, "x-forwarded-for", appended) } };
}
