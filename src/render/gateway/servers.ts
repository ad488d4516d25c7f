/** The Gateways that select a proxy in; its ports out, each with the servers that share it, conflicts settled as Istio does. */
import { compareText } from "../../lib/index.ts";
import {
  type Config,
  type GatewayServer,
  type GatewaySpec,
  isHttp,
  objectKey,
  type Protocol,
  parseProtocol,
  type ServerFacet,
} from "../../model/index.ts";
import { serverFacet } from "../facets.ts";
import { canListen } from "../proxy/addresses.ts";
import { isUdp, type ServedPort, servedPorts } from "../proxy/served-ports.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { internalAnnotation, isTranslated } from "./translated.ts";

/** A server as it ended up on a port of the proxy. */
export interface BoundServer {
  /** `namespace/name` of the Gateway. */
  readonly gateway: string;
  readonly meta: Config<GatewaySpec>["meta"];
  /** Index in `spec.servers`, for provenance. */
  readonly index: number;
  /** With hosts as `namespace/host` or `host`: the forms with a dot or a star for the namespace are resolved. */
  readonly server: GatewayServer;
  readonly protocol: Protocol;
  /** Name of its route configuration; "" where the server carries no HTTP. */
  readonly routeName: string;
  /** Hosts without namespaces, sorted; empty where the server has no TLS settings. */
  readonly sniHosts: readonly string[];
}

export interface GatewayPort {
  readonly number: number;
  readonly bind: string;
  readonly protocol: Protocol;
  /** Of plain HTTP ports: all servers share one route configuration. */
  readonly routeName: string;
  readonly servers: readonly BoundServer[];
}

export interface MergedGateways {
  /** In the order in which ports were first claimed. */
  readonly ports: readonly GatewayPort[];
  readonly byRoute: ReadonlyMap<string, readonly BoundServer[]>;
  /** Of some AUTO_PASSTHROUGH server whose hosts are not another's on the same port. */
  readonly hasAutoPassthrough: boolean;
  /** Servers that lost a conflict, with the reason. */
  readonly rejected: readonly { readonly server: BoundServer; readonly reason: string }[];
}

export const mergedGateways = recipe(serverFacet, "gateways", (view): MergedGateways => {
  const merge = createMerge();
  for (const { config, targets } of applicableGateways(view)) {
    (config.spec.servers ?? []).forEach((server, index) => {
      if (!canListen(server.bind || "0.0.0.0", server.port?.number ?? 0)) return;
      for (const port of resolvePorts(server.port?.number ?? 0, targets))
        merge.add(bindServer(config, server, index, port), port);
    });
  }
  return merge.result();
});

/** Behind an AUTO_PASSTHROUGH server, connections are told apart by the SNI of Istio's mTLS alone. */
export function routesBySni(view: View<ServerFacet>): boolean {
  return view.proxy.type === "router" && mergedGateways(view).hasAutoPassthrough;
}

interface Applicable {
  readonly config: Config<GatewaySpec>;
  readonly targets: BindablePorts;
}

/**
 * On a proxy that was made for a Gateway of the Gateway API, Istio's own Gateways count only from that namespace: nobody
 * else can add listeners to it, and so ask for its secrets.
 */
function applicableGateways(view: View<ServerFacet>): readonly Applicable[] {
  const selected = view.proxy.gateways.flatMap((key) => view.mesh.gateway(key) ?? []);
  const all = selected.flatMap((config) => {
    const targets = bindablePorts(view, config);
    return targets ? [{ config, targets }] : [];
  });
  const managed = new Set(
    all
      .filter(({ config }) => internalAnnotation(config.meta, "service-account-name"))
      .map(({ config }) => config.meta.namespace),
  );
  if (managed.size === 0) return all;
  return all.filter(({ config }) => isTranslated(config.meta) || managed.has(config.meta.namespace));
}

export const isPassthrough = (server: GatewayServer): boolean =>
  server.tls !== undefined && ["PASSTHROUGH", "AUTO_PASSTHROUGH"].includes(tlsMode(server));

/** Absent is PASSTHROUGH: the first value of the enum. */
export const tlsMode = (server: GatewayServer): string => server.tls?.mode ?? "PASSTHROUGH";

/** Terminates TLS and speaks HTTP inside. */
export const terminatesHttps = ({ server, protocol }: BoundServer): boolean =>
  protocol === "HTTPS" && server.tls !== undefined && !isPassthrough(server);

/** Gateways of the Gateway API name the Services whose ports they mean; Istio's own translate any Service port they find. */
const noTranslationLabel = "experimental.istio.io/disable-gateway-port-translation";

interface BindablePorts {
  readonly ports: readonly ServedPort[];
  /** Only ports of these Services may be bound, and all that match are. */
  readonly exact: boolean;
}

function bindablePorts(view: View<ServerFacet>, config: Config<GatewaySpec>): BindablePorts | undefined {
  const named = internalAnnotation(config.meta, "gateway-service");
  if (named === undefined) {
    const ports = servedPorts(view).filter(({ service }) => service.labels[noTranslationLabel] === undefined);
    return { ports, exact: false };
  }
  const namespace = internalAnnotation(config.meta, "parent-namespace") ?? config.meta.namespace;
  const keys = new Set(named.split(",").map((host) => `${namespace}/${host}`));
  const ports = servedPorts(view).filter(({ service }) => keys.has(service.key));
  return ports.length === 0 ? undefined : { ports, exact: true };
}

function resolvePorts(number: number, { ports, exact }: BindablePorts): readonly number[] {
  if (number === 0) return [];
  const named = ports.filter(({ servicePort }) => servicePort.port === number);
  const ofTcp = named.filter((port) => !isUdp(port));
  const found = (ofTcp.length > 0 ? ofTcp : named).map(({ targetPort }) => targetPort);
  if (exact) return [...new Set(found)];
  return [found[0] ?? number];
}

function bindServer(config: Config<GatewaySpec>, server: GatewayServer, index: number, port: number): BoundServer {
  const protocol = parseProtocol(server.port?.protocol ?? "");
  const hosts = sanitizeHosts(server.hosts ?? [], config.meta.namespace);
  const sni = new Set(hosts.map((host) => host.slice(host.indexOf("/") + 1)));
  return {
    gateway: objectKey(config.meta),
    meta: config.meta,
    index,
    server: { ...server, hosts },
    protocol,
    routeName: routeName(config, server, protocol, port),
    sniHosts: server.tls ? [...sni].sort(compareText) : [],
  };
}

function sanitizeHosts(hosts: readonly string[], namespace: string): readonly string[] {
  if (hosts.includes("*/*")) return ["*"];
  return hosts.map((host) => {
    if (host.startsWith("./")) return `${namespace}/${host.slice(2)}`;
    return host.startsWith("*/") ? host.slice(2) : host;
  });
}

function routeName(config: Config<GatewaySpec>, server: GatewayServer, protocol: Protocol, port: number): string {
  const bind = server.bind ? `.${server.bind}` : "";
  if (isHttp(protocol)) return `http.${port}${bind}`;
  if (protocol !== "HTTPS" || isPassthrough(server)) return "";
  const { name, namespace } = config.meta;
  return `https.${server.port?.number}.${server.port?.name ?? ""}.${name}.${namespace}${bind}`;
}

interface OpenPort {
  readonly number: number;
  readonly bind: string;
  readonly protocol: Protocol;
  readonly routeName: string;
  readonly servers: BoundServer[];
}

/**
 * One pass over all servers. A port holds either plain servers (HTTP ones merge, others exclude each other) or TLS
 * servers that differ by host; a different bind address is a different listener.
 */
function createMerge() {
  const ports = new Map<string, OpenPort>();
  const claimed = new Set<number>();
  /** The plain listener that was last opened on a port number. */
  const plain = new Map<number, OpenPort>();
  const byRoute = new Map<string, BoundServer[]>();
  const hosts = new Map<string, Set<string>>();
  const rejected: { server: BoundServer; reason: string }[] = [];
  let hasAutoPassthrough = false;

  const open = (bound: BoundServer, number: number): void => {
    const { protocol, routeName: route, server } = bound;
    const bind = server.bind ?? "";
    const port: OpenPort = { number, bind, protocol, routeName: route, servers: [bound] };
    ports.set(portKey(number, bound), port);
    if (!isTlsServer(bound)) plain.set(number, port);
    if (route !== "") byRoute.set(route, [bound]);
  };
  const join = (port: OpenPort, bound: BoundServer): void => {
    port.servers.push(bound);
    const route = byRoute.get(bound.routeName);
    if (route) route.push(bound);
    else if (bound.routeName !== "") byRoute.set(bound.routeName, [bound]);
  };
  const joinTls = (bound: BoundServer, number: number): string | undefined => {
    if (bound.routeName !== "" && byRoute.has(bound.routeName))
      return "its HTTPS port has the name of another in the same Gateway";
    const port = ports.get(portKey(number, bound));
    if (port) join(port, bound);
    else open(bound, number);
    return undefined;
  };
  const joinPlain = (current: OpenPort, bound: BoundServer, number: number): string | undefined => {
    if (current.bind !== (bound.server.bind ?? "")) {
      const port = ports.get(portKey(number, bound));
      if (port) join(port, bound);
      else open(bound, number);
      return undefined;
    }
    const mergeable = isHttp(current.protocol) && (isHttp(bound.protocol) || bound.protocol === current.protocol);
    if (!mergeable || bound.routeName === "")
      return `port ${number} is taken by a server that speaks ${current.protocol}`;
    join(current, bound);
    return undefined;
  };
  const place = (bound: BoundServer, number: number): string | undefined => {
    if (bound.server.tls && !claimHosts(hosts, number, bound.server))
      return "a server on the same port has the same hosts";
    hasAutoPassthrough ||= bound.server.tls?.mode === "AUTO_PASSTHROUGH";
    const current = plain.get(number);
    if (claimed.has(number) && current) return joinPlain(current, bound, number);
    if (claimed.has(number) && isTlsServer(bound)) return joinTls(bound, number);
    claimed.add(number);
    open(bound, number);
    return undefined;
  };

  return {
    add(bound: BoundServer, number: number): void {
      const reason = place(bound, number);
      if (reason !== undefined) rejected.push({ server: bound, reason });
    },
    result: (): MergedGateways => ({ ports: [...ports.values()], byRoute, hasAutoPassthrough, rejected }),
  };
}

/** HTTP servers with TLS settings only redirect: they are plain. */
const isTlsServer = ({ server, protocol }: BoundServer): boolean => server.tls !== undefined && !isHttp(protocol);

const portKey = (number: number, { server }: BoundServer): string =>
  `${number}|${server.port?.protocol ?? ""}|${server.bind ?? ""}`;

/** Envoy refuses a listener with two equal matches, so hosts of TLS servers are unique per port and bind address. */
function claimHosts(known: Map<string, Set<string>>, port: number, server: GatewayServer): boolean {
  const key = `${port}|${server.bind ?? ""}`;
  const taken = known.get(key) ?? new Set<string>();
  const hosts = server.hosts ?? [];
  if (hosts.some((host) => taken.has(host))) return false;
  for (const host of hosts) taken.add(host);
  known.set(key, taken);
  return true;
}
