/** The name of a listener as a gRPC client or server asks for it in; what it means out. */

/** As the agent's bootstrap tells gRPC servers to ask: the address that they listen on follows. */
const inboundPrefix = "xds.istio.io/grpc/lds/inbound/";

export interface ListenerName {
  readonly direction: "outbound" | "inbound";
  readonly host: string;
  readonly port: number;
}

/** `host:port` with an IPv6 address in brackets; undefined for what names no port, which no client could use. */
export function parseListenerName(name: string): ListenerName | undefined {
  const direction = name.startsWith(inboundPrefix) ? "inbound" : "outbound";
  const place = direction === "inbound" ? name.slice(inboundPrefix.length) : name;
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(place);
  const port = Number(match?.[3] ?? 0);
  if (!match || port < 1 || port > 65_535) return undefined;
  return { direction, host: match[1] ?? match[2] ?? "", port };
}
