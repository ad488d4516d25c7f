/** State of the control plane in; the answers of `/debug/*` out, for HTTP and for xDS alike. */
import { FairleadError, lazyList } from "../lib/index.ts";
import type { Identity, ResourceType } from "../model/index.ts";
import { type Ads, type ProxyStatus, proxyName, shortName, type TypeStatus } from "../xds/index.ts";
import { mayDebug } from "./authorize-debug.ts";

/** One path after `/debug/`. */
export interface DebugView {
  /** What it shows, for the list of paths. */
  readonly help: string;
  /** Answers about one proxy only, named by `proxyID`. Where it is "either", all proxies are shown without one. */
  readonly about?: "proxy" | "either";
  /** A text, or what is written as JSON; what is long has lazy parts. */
  answer(asked: DebugAsked): unknown;
}

export interface DebugAsked {
  readonly query: URLSearchParams;
  /** Present where the view is about a proxy and one was named. */
  readonly proxy: ProxyStatus | undefined;
  /** What was sent with the question; empty where nothing was. */
  body(): Promise<string>;
  /** Who asked has gone. */
  readonly signal?: AbortSignal | undefined;
}

export interface DebugSources {
  readonly systemNamespace: string;
  readonly ads: Proxies;
  /** What proxies (`pod.namespace`) refuse, and which objects made it. */
  refusals?(): Promise<readonly RefusedResource[]>;
  /** By the name that follows `/debug/`. A text is answered as it is, anything else as JSON. */
  readonly views: ReadonlyMap<string, DebugView>;
}

/** Who is connected: all are never looked at in one go. */
export type Proxies = Pick<Ads, "connected" | "statusOf">;

export interface RefusedResource {
  readonly proxy: string;
  readonly type: ResourceType;
  readonly resource: string;
  readonly blamed: readonly { readonly object: string; readonly field?: string }[];
}

export interface DebugRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly remoteAddress: string;
  readonly identity: Identity | undefined;
  /** Absent where questions have none. */
  readonly body?: () => Promise<string>;
  readonly signal?: AbortSignal;
}

export interface DebugAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** istioctl looks for this text. */
const notConnected = "Proxy not connected to this Pilot instance. It may be connected to another instance.\n";

export async function answerDebug(sources: DebugSources, request: DebugRequest): Promise<DebugAnswer> {
  const id = request.query.get("proxyID");
  const proxy = findProxy(sources.ads, id);
  const namespace = proxy && proxyNamespace(proxy);
  if (!mayDebug(request, { path: request.path, proxyNamespace: namespace }, sources.systemNamespace))
    throw new FairleadError(
      request.identity ? "forbidden" : "unauthenticated",
      "not allowed to read debug information",
    );
  if (request.path === "syncz") {
    const refusals = (await sources.refusals?.()) ?? [];
    return { status: 200, body: lazyList(syncz(seen(sources, request), request.query, refusals)) };
  }
  if (request.path === "list") return { status: 200, body: pathNames(sources) };
  if (request.path === "") return { status: 200, body: index(sources) };
  const view = sources.views.get(request.path);
  if (!view) return { status: 404, body: "404 page not found\n" };
  if (view.about === "proxy" && !id) return { status: 400, body: "You must provide a proxyID in the query string\n" };
  if (view.about && id && !proxy) return { status: 404, body: notConnected };
  const { query, body = async () => "", signal } = request;
  return { status: 200, body: await view.answer({ query, body, signal, proxy: view.about && proxy }) };
}

function seen(sources: DebugSources, request: DebugRequest): IteratorObject<ProxyStatus> {
  return eachProxy(sources.ads).filter((one) =>
    mayDebug(request, { path: "syncz", proxyNamespace: proxyNamespace(one) }, sources.systemNamespace),
  );
}

function pathNames(sources: DebugSources): readonly string[] {
  return ["syncz", ...sources.views.keys()].sort();
}

/** Names are ours and need no escaping; plain text is read everywhere. */
function index(sources: DebugSources): string {
  const lines = pathNames(sources).map(
    (name) =>
      `/debug/${name.padEnd(16)} ${sources.views.get(name)?.help ?? "which proxies are connected, and in step"}`,
  );
  return `${lines.join("\n")}\n`;
}

export function findProxy(proxies: Proxies, id: string | null): ProxyStatus | undefined {
  if (!id) return undefined;
  const found = proxies.connected().find(({ connectionId, node, follows }) => {
    const name = proxyName(node);
    return follows && (connectionId === id || name === id || name.startsWith(`${id}.`));
  });
  return found && proxies.statusOf(found.connectionId);
}

/** One after the other, in the order of connecting; whoever leaves meanwhile is left out. */
export function* eachProxy(proxies: Proxies): Generator<ProxyStatus> {
  for (const { connectionId, follows } of [...proxies.connected()]) {
    const status = follows ? proxies.statusOf(connectionId) : undefined;
    if (status) yield status;
  }
}

export function proxyNamespace(proxy: ProxyStatus): string {
  return (
    proxy.identity?.namespace ?? String(proxy.node.metadata.NAMESPACE ?? proxyName(proxy.node).split(".").at(-1) ?? "")
  );
}

/** What only our agents ask for means nothing to istioctl's users. */
export const isOwnType = (type: ResourceType): boolean => type.startsWith("type.googleapis.com/fairlead.");

const synczTypes = [
  ["CDS", "cluster"],
  ["LDS", "listener"],
  ["RDS", "route"],
  ["EDS", "endpoint"],
  ["ECDS", "extensionconfig"],
] as const;

/** What was not sent, or not acknowledged, is left out. */
function noted(field: string, sent: string, acked: string): readonly (readonly [string, string])[] {
  const all = [
    [`${field}_sent`, sent],
    [`${field}_acked`, acked],
  ] as const;
  return all.filter(([, nonce]) => nonce !== "");
}

function resourceStatus({ sentNonce, ackedNonce, sentAt, ackedAt, nackedAt, lastError }: TypeStatus): object {
  return {
    ...(sentNonce === "" ? {} : { sent: sentNonce }),
    ...(ackedNonce === "" ? {} : { acked: ackedNonce }),
    sentTime: (sentAt ?? new Date(0)).toISOString(),
    ...(lastError === "" ? {} : { lastError }),
    // These two are ours: how long a proxy has been in step, and since when it is not.
    ...(ackedAt ? { ackedTime: ackedAt.toISOString() } : {}),
    ...(nackedAt ? { nackedTime: nackedAt.toISOString() } : {}),
  };
}

/** Fields and names as istioctl and Kiali read them. */
function syncz(
  proxies: IteratorObject<ProxyStatus>,
  query: URLSearchParams,
  refusals: readonly RefusedResource[],
): IteratorObject<object> {
  const refusedBy = Map.groupBy(refusals, ({ proxy }) => proxy);
  const namespace = query.get("namespace");
  return proxies
    .filter((proxy) => !namespace || proxyNamespace(proxy) === namespace)
    .map((proxy) => {
      const of = (short: string): { sent: string; acked: string } => {
        const type = proxy.types.find((candidate) => shortName(candidate.type) === short);
        return { sent: type?.sentNonce ?? "", acked: type?.ackedNonce ?? "" };
      };
      return {
        cluster_id: String(proxy.node.metadata.CLUSTER_ID ?? ""),
        proxy: proxyName(proxy.node),
        proxy_type: proxy.node.id.split("~")[0],
        istio_version: String(proxy.node.metadata.ISTIO_VERSION ?? ""),
        ...Object.fromEntries(synczTypes.flatMap(([short, field]) => noted(field, of(short).sent, of(short).acked))),
        resources: Object.fromEntries(
          proxy.types.filter(({ type }) => !isOwnType(type)).map((type) => [type.type, resourceStatus(type)]),
        ),
        // Beyond istiod's fields: what a person at 3 a.m. asks next.
        connected_at: proxy.connectedAt.toISOString(),
        user_agent: proxy.node.userAgent,
        errors: Object.fromEntries(
          proxy.types.filter((type) => type.lastError !== "").map((type) => [shortName(type.type), type.lastError]),
        ),
        refused: (refusedBy.get(proxyName(proxy.node)) ?? []).map(({ type, resource, blamed }) => ({
          type: shortName(type),
          name: resource,
          objects: blamed.map(({ object, field }) => (field === undefined ? object : `${object} ${field}`)),
        })),
        held: proxy.held.map((held) => ({ type: shortName(held.type), name: held.name, clusters: held.clusters })),
      };
    });
}
