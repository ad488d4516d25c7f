/** State of the control plane in; the answers of `/debug/*` out, for HTTP and for xDS alike. */
import { FairleadError } from "../lib/index.ts";
import type { Identity, Resource, ResourceType } from "../model/index.ts";
import { type ProxyStatus, shortName } from "../xds/index.ts";
import { mayDebug } from "./authorize-debug.ts";

export interface DebugSources {
  readonly systemNamespace: string;
  proxies(): readonly ProxyStatus[];
  /** What a connected proxy is sent, as JSON, secrets redacted. */
  configDump(connectionId: string): Promise<unknown>;
  readonly views: ReadonlyMap<string, () => unknown>;
}

export interface DebugRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly remoteAddress: string;
  readonly identity: Identity | undefined;
}

export interface DebugAnswer {
  readonly status: number;
  readonly body: unknown;
}

export type { Resource, ResourceType };

export async function answerDebug(sources: DebugSources, request: DebugRequest): Promise<DebugAnswer> {
  const proxy = findProxy(sources.proxies(), request.query.get("proxyID"));
  const namespace = proxy && proxyNamespace(proxy);
  if (!mayDebug(request, { path: request.path, proxyNamespace: namespace }, sources.systemNamespace))
    throw new FairleadError(
      request.identity ? "forbidden" : "unauthenticated",
      "not allowed to read debug information",
    );
  if (request.path === "syncz") {
    const seen = knownProxies(sources.proxies()).filter((one) =>
      mayDebug(request, { path: "syncz", proxyNamespace: proxyNamespace(one) }, sources.systemNamespace),
    );
    return { status: 200, body: syncz(seen, request.query.get("namespace")) };
  }
  if (request.path === "adsz" || request.path === "connections") return { status: 200, body: adsz(sources.proxies()) };
  if (request.path === "config_dump") {
    if (!request.query.get("proxyID")) return { status: 400, body: "You must provide a proxyID in the query string\n" };
    // istioctl looks for this text.
    if (!proxy)
      return {
        status: 404,
        body: "Proxy not connected to this Pilot instance. It may be connected to another instance.\n",
      };
    return { status: 200, body: await sources.configDump(proxy.connectionId) };
  }
  if (request.path === "" || request.path === "list")
    return { status: 200, body: ["adsz", "config_dump", "syncz", ...sources.views.keys()].sort() };
  const view = sources.views.get(request.path);
  return view ? { status: 200, body: view() } : { status: 404, body: "404 page not found\n" };
}

export function findProxy(proxies: readonly ProxyStatus[], id: string | null): ProxyStatus | undefined {
  if (!id) return undefined;
  return knownProxies(proxies).find(
    (proxy) => proxy.connectionId === id || proxyName(proxy) === id || proxyName(proxy).startsWith(`${id}.`),
  );
}

/** A connection that follows nothing is somebody who asks, such as istioctl, and no proxy. */
export function knownProxies(proxies: readonly ProxyStatus[]): readonly ProxyStatus[] {
  return proxies.filter((proxy) => proxy.types.length > 0);
}

/** `name.namespace` */
function proxyName(proxy: ProxyStatus): string {
  return proxy.node.id.split("~")[2] ?? proxy.node.id;
}

export function proxyNamespace(proxy: ProxyStatus): string {
  return proxy.identity?.namespace ?? String(proxy.node.metadata.NAMESPACE ?? proxyName(proxy).split(".").at(-1) ?? "");
}

/** Fields and names as istioctl and Kiali read them. */
function syncz(proxies: readonly ProxyStatus[], namespace: string | null): readonly object[] {
  return proxies
    .filter((proxy) => !namespace || proxyNamespace(proxy) === namespace)
    .map((proxy) => {
      const of = (short: string): { sent: string; acked: string } => {
        const type = proxy.types.find((candidate) => shortName(candidate.type) === short);
        return { sent: type?.sentNonce ?? "", acked: type?.ackedNonce ?? "" };
      };
      return {
        cluster_id: String(proxy.node.metadata.CLUSTER_ID ?? ""),
        proxy: proxyName(proxy),
        proxy_type: proxy.node.id.split("~")[0],
        istio_version: String(proxy.node.metadata.ISTIO_VERSION ?? ""),
        cluster_sent: of("CDS").sent,
        cluster_acked: of("CDS").acked,
        listener_sent: of("LDS").sent,
        listener_acked: of("LDS").acked,
        route_sent: of("RDS").sent,
        route_acked: of("RDS").acked,
        endpoint_sent: of("EDS").sent,
        endpoint_acked: of("EDS").acked,
        extensionconfig_sent: of("ECDS").sent,
        extensionconfig_acked: of("ECDS").acked,
        // Beyond istiod's fields: what a person at 3 a.m. asks next.
        connected_at: proxy.connectedAt.toISOString(),
        user_agent: proxy.node.userAgent,
        errors: Object.fromEntries(
          proxy.types.filter((type) => type.lastError !== "").map((type) => [shortName(type.type), type.lastError]),
        ),
        held: proxy.held.map((held) => ({ type: shortName(held.type), name: held.name, clusters: held.clusters })),
      };
    });
}

function adsz(proxies: readonly ProxyStatus[]): object {
  return {
    totalClients: proxies.length,
    clients: proxies.map((proxy) => ({
      connectionId: proxy.connectionId,
      connectedAt: proxy.connectedAt.toISOString(),
      address: proxy.peer,
      variant: proxy.variant,
      watches: Object.fromEntries(proxy.types.map((type) => [type.type, type.subscribed])),
    })),
  };
}
