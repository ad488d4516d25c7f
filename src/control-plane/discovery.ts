/**
 * The control plane on a Kubernetes API: watches in, xDS, certificates, metrics, debug and webhooks out. It reads as the
 * data flows; every part is made here and nowhere else.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  type CertificateAuthority,
  caGauges,
  controlPlaneNames,
  createCertificateAuthority,
  createCertificateService,
  createRateLimit,
  loadOrCreateCa,
} from "../ca/index.ts";
import { createGraph } from "../collections/index.ts";
import {
  createAddressGuard,
  createHttpClient,
  createJwksResolver,
  type JwksResolver,
  type JwksResolverOptions,
} from "../fetch/index.ts";
import {
  type ClusterAccess,
  createHttpSource,
  createKubeClient,
  fencedClient,
  type KubeClient,
  runLeaderElection,
} from "../kube/index.ts";
import type { Logger } from "../lib/index.ts";
import { type Identity, istioVersion, parseIdentity } from "../model/index.ts";
import {
  answerDebug,
  createDebugTypes,
  createHttpServer,
  createMetrics,
  type DebugSources,
  type HttpHandler,
  versionInfo,
} from "../ops/index.ts";
import { createEnvoyTypes } from "../render/index.ts";
import { type Call, createRpcServer, type Route, RpcError, status } from "../rpc/index.ts";
import { type Ads, type Authenticate, createAds } from "../xds/index.ts";
import { createTokenJudge, type TokenJudge } from "./authenticate.ts";
import { createCaSecretStore } from "./ca-secret.ts";
import { createConfigDump, createConfigDumpMessages } from "./config-dump.ts";
import {
  runGatewayClasses,
  runProblemReports,
  runServiceEntryAddresses,
  runStatusWriter,
} from "./controllers/index.ts";
import { createPatchReports } from "./patch-reports.ts";
import { proxyOfNode } from "./proxy-of-node.ts";
import { createRenderProblems } from "./render-problems.ts";
import { createResourceSource } from "./resource-source.ts";
import { runRootDistribution } from "./root-distribution.ts";
import { createSecretAccess } from "./secret-access.ts";
import { createStages } from "./stages.ts";
import { watchedKind, watchObjects } from "./watched-kinds.ts";
import { admissionHandler, runWebhookPatch } from "./webhooks.ts";
import { createWorkloadSource } from "./workload-source.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface DiscoveryAddresses {
  readonly grpc: Address;
  readonly secureGrpc: Address;
  readonly monitoring: Address;
  readonly https: Address;
  readonly http: Address;
}

export interface DiscoveryOptions {
  readonly access: ClusterAccess;
  readonly addresses: DiscoveryAddresses;
  /** Further addresses for the TLS port, and names that its certificate must cover. */
  readonly extraSecure: readonly Address[];
  readonly domain: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly revision: string;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
  readonly keySets?: {
    /** Addresses that keys are never fetched from, beside those that never are. */
    readonly blockedRanges: readonly string[];
    readonly refreshMs: number;
    /** Further roots that key servers may have, as PEM. */
    readonly extraRoots?: string;
  };
  readonly log: Logger;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

export interface Discovery {
  /** Where everything is bound. */
  readonly addresses: DiscoveryAddresses;
  close(): Promise<void>;
}

export async function startDiscovery(options: DiscoveryOptions): Promise<Discovery> {
  const { log, now, namespace, domain, signal } = options;
  const metrics = createMetrics();
  const stop = new AbortController();
  const running = AbortSignal.any([signal, stop.signal]);
  let ready = false;

  // 1. Objects of the API, as collections that follow it.
  const graph = createGraph({
    onFault(what, error) {
      metrics.count("fairlead_render_faults");
      log.error(`${what} was left out: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    },
  });
  const client = createKubeClient(options.access);
  const source = createHttpSource({ graph, client, log: log.scope("kube"), random: options.random });
  const watched = watchObjects(source);

  // Beside it: keys that verify tokens, from the network.
  const guard = createAddressGuard(options.keySets?.blockedRanges);
  const fetchKeySets = (requestAuthentications: JwksResolverOptions["requestAuthentications"]): JwksResolver =>
    createJwksResolver({
      graph,
      client: createHttpClient({ guard, ...options.keySets }),
      requestAuthentications,
      log: log.scope("jwks"),
      monotonicMs: options.monotonicMs,
      random: options.random,
      signal: running,
      onFetch: (good) => metrics.count(`pilot_jwks_resolver_network_fetch_${good ? "success" : "fail"}_total`),
      ...options.keySets,
    });
  let keySets: JwksResolver | undefined;

  // Beside it: who may read Secrets, by the API's own word.
  const secretAccess = createSecretAccess({
    graph,
    client,
    cluster: options.cluster,
    log: log.scope("secrets"),
    signal: running,
  });

  // 2.-4. Decoded configs, services and endpoints, and the view that rendering reads.
  const configMap = options.revision === "" || options.revision === "default" ? "istio" : `istio-${options.revision}`;
  const stages = createStages({
    graph,
    objects: watched.objects,
    domain,
    cluster: options.cluster,
    configMap: `${namespace}/${configMap}`,
    maySeeSecrets: secretAccess.allows,
    fetchKeySets: (requests) => {
      keySets = fetchKeySets(requests);
      return keySets.keySets;
    },
  });
  await untilAborted(watched.synced(), running);
  await untilAborted(keySets?.settled() ?? Promise.resolve(), running);

  // Beside it: the types that patches may name. They take their time, so only where there are patches.
  const envoyTypes = createEnvoyTypes(graph);
  if (watched.objects("networking.istio.io", "EnvoyFilter").size > 0) await untilAborted(envoyTypes.load(), running);

  const patchReports = createPatchReports(metrics, log.scope("envoyfilter"));
  watched.objects("networking.istio.io", "EnvoyFilter").subscribe((key, next, before) => {
    if (next?.metadata.generation !== before?.metadata.generation) patchReports.forget(key);
  });
  // 5. Resources per class of proxies, refreshed when something they read has changed.
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster: options.cluster };
  const resources = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf: stages.classOf,
    admit: secretAccess.hold,
    debounceMs: options.debounceMs,
    debounceMaxMs: options.debounceMaxMs,
    onFault: (proxy, { name, error }) => {
      metrics.count("fairlead_render_faults");
      log.error(
        `cannot render ${name} for ${proxy.namespace}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    },
    envoyTypes,
    onPatch: patchReports.report,
    onProblem: createRenderProblems(metrics, log.scope("render")),
    onPush: () => metrics.count("pilot_push_triggers", { type: "config" }),
  });

  // And for their agents: who is at the addresses that they ask for.
  const workloads = createWorkloadSource(resources, { ...options, graph, registry: stages.registry });

  // 6. xDS for proxies, with who they are proven by certificate or token.
  const ads: Ads = createAds({
    source: workloads,
    identifier: JSON.stringify({ Component: "istiod", ID: hostname(), Info: versionInfo() }),
    ready: () => ready,
    log: log.scope("ads"),
    now,
    uuid: randomUUID,
    metrics,
    other: {
      handles: (typeUrl) => debugTypes.handles(typeUrl),
      answer: (request) => debugTypes.answer(request),
    },
  });
  const debugSources: DebugSources = {
    systemNamespace: namespace,
    proxies: ads.status,
    configDump: createConfigDump(resources, ads),
    views: new Map<string, () => unknown>([
      ["mesh", () => stages.settings.current()],
      ["registryz", () => stages.registry.services.keys().map((key) => stages.registry.services.get(key))],
    ]),
  };
  const debugTypes = createDebugTypes({
    ...debugSources,
    configDumpMessages: createConfigDumpMessages(resources, ads),
  });

  // Beside it: certificates.
  const trustDomain = (): string => stages.settings.current().trustDomain ?? "cluster.local";
  const bundle = await loadOrCreateCa(createCaSecretStore(client, namespace), {
    organization: trustDomain(),
    now: now(),
  });
  const authority = createCertificateAuthority({ bundle, now });
  const judge = createTokenJudge({ client, pods: watched.objects("", "Pod"), audiences: ["istio-ca"], trustDomain });
  const certificates = createCertificateService({
    authority,
    authenticate: judge.identify,
    rateLimit: createRateLimit({
      perKey: { burst: 100, perSecond: 10 },
      total: { burst: 2000, perSecond: 1000 },
      monotonicMs: options.monotonicMs,
    }),
    metrics,
    log,
  });

  const servers: { close(): Promise<void> }[] = [];
  try {
    const grpc = await serveGrpc(
      options,
      ads.routes(() => undefined),
      undefined,
      [options.addresses.grpc],
      servers,
    );
    const secureRoutes = [...ads.routes(authenticateWith(judge)), certificates];
    const serving = await authority.issueServing(servingNames(options));
    const tls = { cert: serving.cert, key: serving.key, clientCa: authority.roots() };
    const secureGrpc = await serveGrpc(
      options,
      secureRoutes,
      tls,
      [options.addresses.secureGrpc, ...options.extraSecure],
      servers,
    );

    const debug: HttpHandler = async (request) => {
      const identity = await identityOf(judge, request.headers.authorization);
      const answer = await answerDebug(debugSources, {
        path: request.url.pathname.replace(/^\/debug\/?/, ""),
        query: request.url.searchParams,
        remoteAddress: request.remoteAddress,
        identity,
      });
      const text = typeof answer.body === "string" ? answer.body : `${JSON.stringify(answer.body, null, 2)}\n`;
      return {
        status: answer.status,
        type: typeof answer.body === "string" ? "text/plain" : "application/json",
        body: text,
      };
    };
    const readiness: HttpHandler = () => (ready ? { status: 200, body: "" } : { status: 503, body: "not ready\n" });
    const monitoring = await createHttpServer({
      address: options.addresses.monitoring,
      log,
      routes: new Map<string, HttpHandler>([
        ["/metrics", async () => ({ status: 200, type: "text/plain; version=0.0.4", body: await metrics.text() })],
        ["/version", () => ({ status: 200, type: "application/json", body: JSON.stringify(versionInfo()) })],
        ["/debug/", debug],
        ["/debug", debug],
      ]),
    });
    servers.push(monitoring);
    const http = await createHttpServer({
      address: options.addresses.http,
      log,
      routes: new Map<string, HttpHandler>([
        ["/ready", readiness],
        ["/debug/", debug],
        ["/debug", debug],
      ]),
    });
    servers.push(http);
    const https = await createHttpServer({
      address: options.addresses.https,
      tls: serving,
      log,
      routes: new Map<string, HttpHandler>([
        ["/ready", readiness],
        ["/validate", admissionHandler(metrics)],
      ]),
    });
    servers.push(https);

    describeState(metrics, options, { authority, stages, classes: () => resources.classes });
    lead(options, running, client, (leading, client) => {
      runRootDistribution({
        client,
        namespaces: watched.objects("", "Namespace"),
        configMaps: watched.objects("", "ConfigMap"),
        roots: authority.roots,
        log,
        signal: leading,
      });
      runWebhookPatch({
        client,
        configurations: watched.objects("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        roots: authority.roots,
        log,
        signal: leading,
        revision: options.revision,
      });
      const shared = { client, random: options.random, signal: leading };
      runServiceEntryAddresses({
        ...shared,
        serviceEntries: watched.objects("networking.istio.io", "ServiceEntry"),
        discovered: stages.settings.discovered,
        log: log.scope("ip-autoallocate"),
      });
      runGatewayClasses({
        ...shared,
        classes: watched.objects("gateway.networking.k8s.io", "GatewayClass"),
        log: log.scope("status"),
      });
      runStatusWriter({
        ...shared,
        statuses: stages.statuses,
        kinds: statusKinds.map(([group, kind]) => ({
          ref: watchedKind(group, kind),
          objects: watched.objects(group, kind),
        })),
        now,
        log: log.scope("status"),
      });
      runProblemReports({
        ...shared,
        objects: watched.objects,
        meshConfig: stages.settings.text,
        decoding: stages.problems,
        patches: patchReports,
        now,
        log: log.scope("analysis"),
        onProblem: (kind, { level }) => {
          if (level === "Error") metrics.count("pilot_total_rejected_configs", { type: kind.toLowerCase() });
        },
      });
    });
    ready = true;
    return {
      addresses: { grpc, secureGrpc, monitoring: monitoring.address, https: https.address, http: http.address },
      close: () => shutDown(stop, servers, [workloads, resources, source, client]),
    };
  } catch (error) {
    await shutDown(stop, servers, [workloads, resources, source, client]);
    throw error;
  }
}

/** Kinds whose statuses translation says. */
const gatewayApi = "gateway.networking.k8s.io";
const statusKinds: readonly (readonly [string, string])[] = [
  ...["GatewayClass", "Gateway", "ListenerSet", "BackendTLSPolicy"].map((kind) => [gatewayApi, kind] as const),
  ...["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"].map((kind) => [gatewayApi, kind] as const),
  ["networking.k8s.io", "Ingress"],
];

/** One server per address; further ones take the first's port where they name none. */
async function serveGrpc(
  options: DiscoveryOptions,
  routes: readonly Route[],
  tls: { cert: string; key: string; clientCa: string } | undefined,
  [main, ...extra]: readonly [Address, ...Address[]],
  servers: { close(): Promise<void> }[],
): Promise<Address> {
  const listen = (address: Address): Promise<Address> => {
    const server = createRpcServer({
      routes,
      log: options.log.scope("grpc"),
      random: options.random,
      ...(tls ? { tls } : {}),
    });
    servers.push(server);
    return server.listen(address);
  };
  const bound = await listen(main);
  for (const address of extra)
    await listen({ host: address.host, port: address.port === 0 ? bound.port : address.port });
  return { host: main.host, port: bound.port };
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

/** On the TLS port a proxy proves who it is, by its certificate or else by its token. */
function authenticateWith(judge: TokenJudge): Authenticate {
  return async (call: Call) => {
    const proven = await callerIdentity(judge, call);
    if (!proven) throw new RpcError(status.unauthenticated, "authentication failure");
    return proven;
  };
}

async function callerIdentity(judge: TokenJudge, call: Call): Promise<Identity | undefined> {
  const [uri, ...others] = call.peer.tls?.uris ?? [];
  const shown = uri !== undefined && others.length === 0 ? parseIdentity(uri) : undefined;
  if (shown) return shown;
  return identityOf(judge, call.metadata("authorization"));
}

async function identityOf(judge: TokenJudge, authorization: string | undefined): Promise<Identity | undefined> {
  const token = /^Bearer ([\x21-\x7e]{1,16384})$/.exec(authorization ?? "")?.[1];
  if (token === undefined) return undefined;
  return await judge.identify(token, AbortSignal.timeout(5_000)).catch(() => undefined);
}

function describeState(
  metrics: ReturnType<typeof createMetrics>,
  options: DiscoveryOptions,
  state: { authority: CertificateAuthority; stages: ReturnType<typeof createStages>; classes: () => number },
): void {
  const started = options.monotonicMs();
  metrics.set("istio_build", 1, { component: "pilot", tag: istioVersion });
  metrics.set("pilot_info", 1, { version: istioVersion });
  metrics.onScrape(() => {
    metrics.set("istiod_uptime_seconds", (options.monotonicMs() - started) / 1000);
    metrics.set("pilot_services", state.stages.registry.services.size);
    metrics.set("fairlead_classes", state.classes());
    for (const [name, value] of Object.entries(caGauges(state.authority, options.now))) metrics.set(name, value);
  });
}

function lead(
  options: DiscoveryOptions,
  signal: AbortSignal,
  client: KubeClient,
  work: (leading: AbortSignal, client: KubeClient) => void,
): void {
  const election = runLeaderElection({
    client,
    namespace: options.namespace,
    name: "istio-leader",
    identity: `${hostname()}-${process.pid}`,
    now: options.now,
    monotonicMs: options.monotonicMs,
    log: options.log.scope("leader"),
    signal,
    lead: (leading) => work(leading, fencedClient(client, election)),
  });
}

async function shutDown(
  stop: AbortController,
  servers: readonly { close(): Promise<void> }[],
  parts: readonly { close(): void }[],
): Promise<void> {
  stop.abort();
  await Promise.all(servers.map((server) => server.close()));
  for (const part of parts) part.close();
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
