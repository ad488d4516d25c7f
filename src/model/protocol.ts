/** What a port speaks: the port's name, appProtocol and number in, one of Istio's protocol names out. */

export type Protocol =
  | "HTTP"
  | "HTTP_PROXY"
  | "HTTP2"
  | "GRPC"
  | "GRPC-Web"
  | "HTTPS"
  | "TLS"
  | "HBONE"
  | "TCP"
  | "UDP"
  | "Mongo"
  | "Redis"
  | "MySQL"
  /** Nothing was declared: Envoy sniffs. */
  | "Unsupported";

const byName: ReadonlyMap<string, Protocol> = new Map([
  ["tcp", "TCP"],
  ["udp", "UDP"],
  ["grpc", "GRPC"],
  ["grpc-web", "GRPC-Web"],
  ["http", "HTTP"],
  ["http_proxy", "HTTP_PROXY"],
  ["http2", "HTTP2"],
  ["https", "HTTPS"],
  ["tls", "TLS"],
  ["mongo", "Mongo"],
  ["redis", "Redis"],
  ["mysql", "MySQL"],
  ["hbone", "HBONE"],
]);

/** `http2`, `GRPC`, … of a Gateway server or ServiceEntry port; what is unknown is to be sniffed. */
export function parseProtocol(text: string): Protocol {
  return byName.get(text.toLowerCase()) ?? "Unsupported";
}

export const isHttp = (p: Protocol): boolean =>
  p === "HTTP" || p === "HTTP2" || p === "GRPC" || p === "GRPC-Web" || p === "HTTP_PROXY";
export const isHttp2 = (p: Protocol): boolean => p === "HTTP2" || p === "GRPC" || p === "GRPC-Web";
export const isGrpc = (p: Protocol): boolean => p === "GRPC" || p === "GRPC-Web";
export const isTls = (p: Protocol): boolean => p === "HTTPS" || p === "TLS";
export const isTcp = (p: Protocol): boolean =>
  p === "TCP" || p === "HTTPS" || p === "TLS" || p === "Mongo" || p === "Redis" || p === "MySQL";
export const isSniffed = (p: Protocol): boolean => p === "Unsupported";

/** Ports whose servers speak first: never sniffed, because the client would wait for them. */
const serverFirst: ReadonlySet<number> = new Set([25, 53, 3306, 27017]);

const byAppProtocol: ReadonlyMap<string, Protocol> = new Map([
  ["kubernetes.io/h2c", "HTTP2"],
  ["kubernetes.io/ws", "HTTP"],
  ["kubernetes.io/wss", "HTTPS"],
]);

/** The protocol of a Kubernetes Service port: appProtocol, then the name (whole or before the first dash), then sniffing. */
export function servicePortProtocol(
  port: number,
  name: string,
  transport: string,
  appProtocol: string | undefined,
): Protocol {
  if (transport === "UDP") return "UDP";
  const declared = appProtocol !== undefined && appProtocol !== "" ? appProtocol.toLowerCase() : name.toLowerCase();
  const known = appProtocol === undefined ? undefined : byAppProtocol.get(declared);
  if (known) return known;
  // "grpc-web" is the one name with a dash in it.
  const prefix = declared.startsWith("grpc-web") ? "grpc-web" : (declared.split("-")[0] ?? "");
  const protocol = parseProtocol(prefix);
  if (protocol === "Unsupported" && serverFirst.has(port)) return "TCP";
  return protocol;
}
