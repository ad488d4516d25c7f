/** The nouns of one request on its way: what a caller sends, and what it looks like on each connection. */

export interface Address {
  readonly ip: string;
  readonly port: number;
}

/** Names are in lower case, in the order in which they were sent; the same name may occur more than once. */
export type Headers = readonly (readonly [name: string, value: string])[];

export interface HttpRequest {
  readonly method: string;
  /** With the query, as it stands in the request line. */
  readonly path: string;
  readonly authority: string;
  readonly headers: Headers;
  readonly version: "HTTP/1.1" | "HTTP/2";
}

/** What a client says before anything is encrypted, and the certificate that it shows afterwards. */
export interface ClientHello {
  readonly sni: string;
  readonly alpn: readonly string[];
  /** URI in the certificate; undefined where it shows none. */
  readonly peer: string | undefined;
}

export type Payload = { readonly kind: "http"; readonly request: HttpRequest } | { readonly kind: "bytes" };

export interface Connection {
  readonly source: Address;
  /** Before any redirection. */
  readonly destination: Address;
  /** TLS around the payload, outermost first. */
  readonly tls: readonly ClientHello[];
  readonly payload: Payload;
}

export const headerOf = (headers: Headers, name: string): string | undefined => {
  const found = headers.filter(([key]) => key === name).map(([, value]) => value);
  // Envoy compares repeated headers as one.
  return found.length === 0 ? undefined : found.join(",");
};

/** Pseudo headers too, as Envoy's matchers see a request. */
export function requestHeader(request: HttpRequest, name: string): string | undefined {
  if (name === ":path") return request.path;
  if (name === ":authority" || name === "host") return request.authority;
  if (name === ":method") return request.method;
  return headerOf(request.headers, name);
}

export function withHeader(headers: Headers, name: string, value: string): Headers {
  return [...headers.filter(([key]) => key !== name), [name, value]];
}

export const isGrpc = ({ headers }: HttpRequest): boolean =>
  /^application\/grpc($|[+;])/.test(headerOf(headers, "content-type") ?? "");

export const showAddress = ({ ip, port }: Address): string => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`);
