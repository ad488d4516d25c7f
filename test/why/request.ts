/** A seed in; one request out, as what is sent and as what is asked about. */
import type { Connection, HttpRequest, Side } from "../../src/explain/index.ts";
import { tokenKinds } from "../policy/request.ts";
import type { Tokens } from "../policy/tokens.ts";
import type { Random } from "../random.ts";
import type { PodOrder } from "./pod.ts";
import { gatewayHosts, paths } from "./scenario.ts";

export interface Places {
  readonly client: string;
  readonly edge: string;
  readonly outside: string;
  /** Addresses of Services by name. */
  readonly services: Readonly<Record<string, string>>;
  readonly servers: readonly string[];
  readonly plain: string;
  /** Of the ServiceEntry. */
  readonly external: string;
}

export interface Trial {
  readonly id: string;
  /** Whose configuration is met first: the client's sidecar, the gateway, or a server's. */
  readonly at: "client" | "edge" | "server";
  readonly side: Side;
  /** Which server, where it is met first. */
  readonly server: string;
  readonly order: Exclude<PodOrder, { kind: "serve" }>;
  readonly connection: Connection;
}

export function randomTrial(random: Random, id: string, places: Places, tokens: Tokens): Trial {
  const kind = random.whole(20);
  if (kind < 11) return fromClient(random, id, places, tokens);
  if (kind < 17) return toGateway(random, id, places, tokens);
  return fromOutside(random, id, places, tokens);
}

function headersOf(random: Random, id: string, tokens: Tokens): Readonly<Record<string, string>> {
  const token = tokens.texts.get(random.chance(0.5) ? "none" : random.pick(tokenKinds));
  return {
    "x-why": id,
    ...(random.chance(0.4) ? { "x-role": random.pick(["admin", "guest", "administrator", ""]) } : {}),
    ...(random.chance(0.2) ? { "x-tenant": random.pick(["acme", "acme-eu"]) } : {}),
    ...(random.chance(0.15)
      ? { origin: random.pick(["https://good.test", "https://bad.test"]), "access-control-request-method": "GET" }
      : {}),
    ...(random.chance(0.2) ? { "x-forwarded-for": random.pick(["203.0.113.7", "198.51.100.1, 203.0.113.7"]) } : {}),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

const disguises: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => path,
  (path) => path,
  (path) => path,
  (path) => path.replace("/", "//"),
  (path) => path.replace(/\/(?=[^/]*$)/, "/./"),
  (path) => `/x/..${path}`,
  (path) => path.replace(/(?<=.)\/(?=[^/]*$)/, "%2F"),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => path.toUpperCase(),
  (path) => `${path}/`,
  (path) => `${path}?q=1`,
  (path) => `${path}?q=abc&q=1`,
  (path) => `${path}/..`,
  (path) => `/${path.length}/..;${path}`,
];

interface HttpParts {
  readonly request: HttpRequest;
  readonly order: Extract<PodOrder, { kind: "http" }>;
}

function httpParts(
  random: Random,
  id: string,
  tokens: Tokens,
  host: string,
  target: { readonly address: string; readonly port: number },
): HttpParts {
  const headers = headersOf(random, id, tokens);
  const method =
    "access-control-request-method" in headers && random.chance(0.7)
      ? "OPTIONS"
      : random.pick(["GET", "GET", "POST", "DELETE", "HEAD"]);
  const path = random.pick(disguises)(random.pick(paths));
  return {
    request: {
      method,
      path,
      authority: host,
      headers: Object.entries(headers).map(([name, value]) => [name, value.trim()]),
      version: "HTTP/1.1",
    },
    order: { kind: "http", ...target, host, method, path, headers },
  };
}

const bytes = { tls: [], payload: { kind: "bytes" } } as const;

function fromClient(random: Random, id: string, places: Places, tokens: Tokens): Trial {
  const web = places.services.web ?? "";
  const base = { id, at: "client", side: "outbound", server: "" } as const;
  const connect = (ip: string, port: number) => ({ source: { ip: places.client, port: 0 }, destination: { ip, port } });
  const kind = random.whole(14);
  const http = (ip: string, port: number, hosts: readonly string[]): Trial => {
    const { request, order } = httpParts(random, id, tokens, random.pick(hosts), { address: ip, port });
    return { ...base, order, connection: { ...connect(ip, port), tls: [], payload: { kind: "http", request } } };
  };
  const tcp = (ip: string, port: number, sni?: string): Trial => ({
    ...base,
    order: { kind: "tcp", address: ip, port, send: "a word\n", ...(sni === undefined ? {} : { sni }) },
    connection: { ...connect(ip, port), ...bytes, tls: sni === undefined ? [] : [{ sni, alpn: [], peer: undefined }] },
  });
  if (kind < 6)
    return http(web, 80, [
      "web",
      "web",
      "web.default",
      "web.default.svc.cluster.local",
      "web:80",
      "WEB",
      "a.wild.test",
      "unknown.test",
    ]);
  if (kind === 6) return http(web, 91, ["web:91", "anything"]);
  if (kind === 7) return random.chance(0.5) ? tcp(web, 90) : tcp(web, 91);
  if (kind === 8) return tcp(web, 443, "web");
  if (kind === 9) return http(places.external, 80, ["external.test", "unknown.test"]);
  if (kind === 10)
    return random.chance(0.5)
      ? tcp(places.external, 443, random.pick(["external.test", "unknown.test"]))
      : tcp(places.external, 90);
  if (kind === 11) return http(places.plain, 8080, ["plain.test"]);
  if (kind === 12) return http(random.pick(places.servers), 8080, ["headless:8080", "web"]);
  return grpc(random, { ...base, connection: connect(web, 70) }, web, id, tokens);
}

function grpc(
  random: Random,
  base: Pick<Trial, "id" | "at" | "side" | "server"> & {
    readonly connection: Pick<Connection, "source" | "destination">;
  },
  ip: string,
  id: string,
  tokens: Tokens,
): Trial {
  const headers = Object.fromEntries(
    Object.entries(headersOf(random, id, tokens))
      .filter(([name]) => !/^access-control|^origin$/.test(name))
      .map(([name, value]) => [name, value.trim()]),
  );
  const path = random.pick(["/shop.Cart/Add", "/admin", "/items/42"]);
  const host = "web:70";
  const request: HttpRequest = {
    method: "POST",
    path,
    authority: host,
    headers: [...Object.entries(headers), ["content-type", "application/grpc"]],
    version: "HTTP/2",
  };
  return {
    ...base,
    order: { kind: "grpc", address: ip, port: 70, host, path, headers },
    connection: { ...base.connection, tls: [], payload: { kind: "http", request } },
  };
}

function toGateway(random: Random, id: string, places: Places, tokens: Tokens): Trial {
  const base = { id, at: "edge", side: "gateway", server: "" } as const;
  const host = random.pick(gatewayHosts);
  const kind = random.whole(6);
  const [address, source] = [places.edge, { ip: places.outside, port: 0 }];
  if (kind === 0)
    return {
      ...base,
      order: { kind: "tcp", address, port: 9000, send: "a word\n" },
      connection: { source, destination: { ip: address, port: 9000 }, ...bytes },
    };
  if (kind === 1) {
    const sni = random.pick(["tls.example.com", "nobody.test"]);
    return {
      ...base,
      order: { kind: "tcp", address, port: 443, send: "a word\n", sni },
      connection: {
        source,
        destination: { ip: address, port: 443 },
        tls: [{ sni, alpn: [], peer: undefined }],
        payload: { kind: "bytes" },
      },
    };
  }
  const secure = kind === 2;
  const port = secure ? 443 : 80;
  const { request, order } = httpParts(random, id, tokens, random.chance(0.2) ? `${host}:${port}` : host, {
    address,
    port,
  });
  const tls = secure ? [{ sni: host, alpn: ["http/1.1"], peer: undefined }] : [];
  return {
    ...base,
    order: { ...order, ...(secure ? { sni: host } : {}) },
    connection: { source, destination: { ip: address, port }, tls, payload: { kind: "http", request } },
  };
}

/** Plain text straight to a server's Pod. */
function fromOutside(random: Random, id: string, places: Places, tokens: Tokens): Trial {
  const address = random.pick(places.servers);
  const base = { id, at: "server", side: "inbound", server: address } as const;
  const source = { ip: places.outside, port: 0 };
  if (random.chance(0.3)) {
    const port = random.pick([9090, 9091, 9999]);
    return {
      ...base,
      order: { kind: "tcp", address, port, send: "a word\n" },
      connection: { source, destination: { ip: address, port }, ...bytes },
    };
  }
  const port = random.pick([8080, 8080, 9091]);
  const { request, order } = httpParts(random, id, tokens, "web", { address, port });
  return {
    ...base,
    order,
    connection: { source, destination: { ip: address, port }, tls: [], payload: { kind: "http", request } },
  };
}
