/** Routes and handlers in; the ports of the control plane, bound, with a certificate that is renewed in time, out. */
import { controlPlaneNames, type ServingCertificate } from "../ca/index.ts";
import type { InjectionSources } from "../inject/index.ts";
import { createWatchdog, FairleadError, jsonPieces, type Overload, type Watchdog } from "../lib/index.ts";
import {
  answerDebug,
  controlZRoutes,
  createHttpServer,
  type DebugCaller,
  type DebugSources,
  type HttpHandler,
  type HttpRequest,
  isLocalHost,
  isOtherSite,
  type Metrics,
  mayDebug,
  noRoom,
  versionText,
} from "../ops/index.ts";
import { createRpcServer, type Route } from "../rpc/index.ts";
import { identityOf, type TokenJudge } from "./authenticate.ts";
import type { Address, DiscoveryAddresses, DiscoveryOptions } from "./discovery-options.ts";
import { declareScopes, describeScope } from "./log-scopes.ts";
import type { References } from "./references.ts";
import { createReviewThread } from "./review-thread.ts";
import type { Trust } from "./trust/index.ts";
import { admissionHandler, injectionHandler } from "./webhooks.ts";

export interface ServerParts {
  /** For the plaintext port. */
  readonly plainRoutes: readonly Route[];
  /** For the TLS port. */
  readonly secureRoutes: readonly Route[];
  readonly trust: Pick<Trust, "serving" | "clientRoots">;
  readonly judge: TokenJudge;
  readonly debug: DebugSources;
  readonly references: References;
  readonly injection: InjectionSources;
  readonly metrics: Metrics;
  /** The page, where there is one. */
  readonly dashboard?: HttpHandler | undefined;
  ready(): boolean;
  /** Takes what has been opened, also when a later one fails. */
  readonly opened: { close(): Promise<void> }[];
  readonly signal: AbortSignal;
}

const dayMs = 86_400_000;
/** How soon a serving certificate is renewed at the earliest, and after a failure. */
const [soonMs, againMs] = [1000, 60_000];

export async function startServers(options: DiscoveryOptions, parts: ServerParts): Promise<DiscoveryAddresses> {
  const { addresses, log } = options;
  const { trust, opened } = parts;
  // There from the start, so that none can be told from not asked.
  parts.metrics.count("fairlead_long_turns_total", {}, 0);
  const watchdog = createWatchdog(log, { onLong: () => parts.metrics.count("fairlead_long_turns_total") });
  const onRefused = (reason: string): void => parts.metrics.count("fairlead_xds_refused_total", { reason });
  const grpcOptions = { ...options, watchdog, onRefused };
  const grpc = await serveGrpc(grpcOptions, parts.plainRoutes, undefined, [addresses.grpc], opened);
  const serving = await trust.serving.issue(servingNames(options));
  const secure = [addresses.secureGrpc, ...options.extraSecure] as const;
  const secureGrpc = await serveGrpc(grpcOptions, parts.secureRoutes, tlsOf(serving, trust), secure, opened);
  const debug = debugHandler(parts, options.overload);
  const readiness: HttpHandler = () =>
    parts.ready() ? { status: 200, body: "" } : { status: 503, body: "not ready\n" };
  const web = async (
    address: Address,
    routes: readonly (readonly [string, HttpHandler])[],
    tls?: ServingCertificate,
  ) => {
    const server = await createHttpServer({
      ...{ address, log, routes: new Map(routes), overload: options.overload, watchdog },
      ...(tls ? { tls } : {}),
    });
    opened.push(server);
    return server;
  };
  const monitoring = await web(addresses.monitoring, [
    ["/metrics", metricsHandler(parts.metrics)],
    ["/version", () => ({ status: 200, type: "text/plain", body: versionText() })],
    ["/debug/", debug],
    ["/debug", debug],
  ]);
  const http = await web(addresses.http, [
    ["/ready", readiness],
    ["/debug/", debug],
    ["/debug", debug],
  ]);
  /** A page is worth no refusal: where its port is taken it has another, and says so. */
  const openPage = async (address: Address, handler: HttpHandler): Promise<Address> => {
    const routes = [["/", handler]] as const;
    try {
      return (await web(address, routes)).address;
    } catch (error) {
      if (FairleadError.from(error).code !== "port-in-use" || address.port === 0) throw error;
      const bound = (await web({ host: address.host, port: 0 }, routes)).address;
      log.warn(`port ${address.port} is taken: the page is at ${bound.host}:${bound.port}`);
      return bound;
    }
  };
  const inject = injectionHandler(parts.metrics, parts.injection, log.scope("injector"));
  const thread = createReviewThread();
  opened.push(thread);
  const hooks = [
    ["/ready", readiness],
    ["/validate", admissionHandler(parts.metrics, parts.references, thread)],
    ["/inject", inject],
    ["/inject/", inject],
  ] as const;
  const https = await web(addresses.https, hooks, serving);
  const controlz = await openControlZ(options, parts, web);
  const dashboard = parts.dashboard && addresses.dashboard && (await openPage(addresses.dashboard, parts.dashboard));
  renewCertificate(options, parts, serving, (fresh) => {
    secureGrpc.setTls(tlsOf(fresh, trust));
    https.setTls(fresh);
  });
  return {
    grpc: grpc.address,
    secureGrpc: secureGrpc.address,
    monitoring: monitoring.address,
    https: https.address,
    http: http.address,
    ...(controlz ? { controlz } : {}),
    ...(dashboard ? { dashboard } : {}),
  };
}

type Web = (
  address: Address,
  routes: readonly (readonly [string, HttpHandler])[],
) => Promise<{ readonly address: Address }>;

/** Its port is of the machine's loopback, where another control plane may have it: a mesh is not refused for that. */
async function openControlZ(options: DiscoveryOptions, parts: ServerParts, web: Web): Promise<Address | undefined> {
  const { logScopes, log } = options;
  const at = options.addresses.controlz;
  if (!logScopes || !at) return undefined;
  const routes = controlZRoutes({ scopes: declareScopes(logScopes), describe: describeScope });
  const guarded = routes.map(([path, handler]) => [path, debuggersOnly(parts, handler)] as const);
  try {
    return (await web(at, guarded)).address;
  } catch (error) {
    log.error(`ControlZ is not served: ${FairleadError.from(error).message}`);
    return undefined;
  }
}

/** For those alone who may read everything at the debug paths. */
function debuggersOnly({ judge, debug }: ServerParts, handler: HttpHandler): HttpHandler {
  return async (request) => {
    const caller = await callerOf(judge, request);
    if (mayDebug(caller, { path: "controlz", proxyNamespace: undefined }, debug.systemNamespace))
      return handler(request);
    throw new FairleadError(caller.identity ? "forbidden" : "unauthenticated", "not allowed to use ControlZ");
  };
}

interface Tls {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string;
}

function tlsOf(serving: ServingCertificate, trust: ServerParts["trust"]): Tls {
  return { cert: serving.cert, key: serving.key, clientCa: trust.clientRoots() };
}

/** At half of what is left of its life, however short signers elsewhere make that, and with each new CA. */
function renewCertificate(
  options: DiscoveryOptions,
  { trust, signal }: ServerParts,
  first: ServingCertificate,
  use: (fresh: ServingCertificate) => void,
): void {
  const nowMs = (): number => options.now().getTime();
  let current = first;
  let dueMs = 0;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => (nowMs() >= dueMs ? renewNext() : sleep());
  /** No timer can have more than some weeks, and a clock that was set right is to count. */
  const sleep = (): void => {
    clearTimeout(timer);
    timer = setTimeout(look, Math.min(dayMs, Math.max(0, dueMs - nowMs()))).unref();
  };
  const schedule = (leastMs: number): void => {
    dueMs = nowMs() + Math.max(leastMs, (current.notAfter.getTime() - nowMs()) / 2);
    sleep();
  };
  const renew = async (): Promise<void> => {
    const fresh = await trust.serving.issue(servingNames(options));
    if (signal.aborted) return;
    const isNew = fresh.cert !== current.cert;
    current = fresh;
    use(fresh);
    if (isNew) options.log.info("the serving certificate was renewed", { until: fresh.notAfter.toISOString() });
    schedule(isNew ? soonMs : againMs);
  };
  const renewNext = (): void => {
    running = running.then(renew).catch((error: unknown) => {
      options.log.error(`the serving certificate could not be renewed: ${String(error)}`);
      if (!signal.aborted) schedule(againMs);
    });
  };
  schedule(soonMs);
  const stop = trust.serving.onReplaced(renewNext);
  signal.addEventListener(
    "abort",
    () => {
      clearTimeout(timer);
      stop();
    },
    { once: true },
  );
}

/** Anybody may ask, and each text takes milliseconds: all who ask in one turn are given the same. */
function metricsHandler(metrics: Metrics): HttpHandler {
  let made: Promise<string> | undefined;
  return async () => {
    if (!made) {
      made = metrics.text();
      setImmediate(() => {
        made = undefined;
      });
    }
    return { status: 200, type: "text/plain; version=0.0.4", body: await made };
  };
}

/** Dumps are large: they wait until there is memory for them. */
function debugHandler({ judge, debug }: ServerParts, overload: Overload | undefined): HttpHandler {
  return async (request) => {
    if (overload?.shortOfMemory) {
      overload.refuse("request", "memory");
      return noRoom;
    }
    const answer = await answerDebug(debug, {
      path: request.url.pathname.replace(/^\/debug\/?/, ""),
      query: request.url.searchParams,
      body: request.body,
      signal: request.signal,
      ...(await callerOf(judge, request)),
    });
    const { status, body } = answer;
    if (typeof body === "string") return { status, type: "text/plain", body };
    return { status, type: "application/json", body: { pieces: jsonLine(body) } };
  };
}

function* jsonLine(value: unknown): Generator<string> {
  yield* jsonPieces(value);
  yield "\n";
}

async function callerOf(judge: TokenJudge, { headers, remoteAddress }: HttpRequest): Promise<DebugCaller> {
  return {
    // A page in a browser of this machine can be made to ask loopback, by another name or its own: no port-forward.
    remoteAddress: isLocalHost(headers.host ?? "") && !isOtherSite(headers) ? remoteAddress : "",
    identity: await identityOf(judge, headers.authorization),
  };
}

interface BoundRpc {
  readonly address: Address;
  setTls(tls: Tls): void;
}

/** One server per address; further ones take the first's port where they name none. */
async function serveGrpc(
  options: DiscoveryOptions & { readonly watchdog: Watchdog; readonly onRefused: (reason: string) => void },
  routes: readonly Route[],
  tls: Tls | undefined,
  [main, ...extra]: readonly [Address, ...Address[]],
  opened: { close(): Promise<void> }[],
): Promise<BoundRpc> {
  const servers: ReturnType<typeof createRpcServer>[] = [];
  const listen = (address: Address): Promise<Address> => {
    const server = createRpcServer({
      routes,
      log: options.log.scope("grpc"),
      random: options.random,
      overload: options.overload,
      watchdog: options.watchdog,
      onRefused: options.onRefused,
      ...(tls ? { tls } : {}),
    });
    servers.push(server);
    opened.push(server);
    return server.listen(address);
  };
  const bound = await listen(main);
  for (const address of extra)
    await listen({ host: address.host, port: address.port === 0 ? bound.port : address.port });
  return {
    address: { host: main.host, port: bound.port },
    setTls(fresh) {
      for (const server of servers) server.setTls(fresh);
    },
  };
}

/** Names and addresses that callers use for the TLS ports. */
function servingNames(options: DiscoveryOptions): { dns: readonly string[]; addresses: readonly string[] } {
  const hosts = [options.addresses.secureGrpc, options.addresses.https, ...options.extraSecure].map(
    (address) => address.host,
  );
  return {
    dns: [...controlPlaneNames(options.namespace, options.revision), "localhost"],
    addresses: [...new Set(["127.0.0.1", ...hosts.filter((host) => host !== "0.0.0.0" && host !== "::")])],
  };
}
