/**
 * The control plane on a Kubernetes API: watches in, xDS, certificates, metrics, debug and webhooks out. It reads as the
 * data flows; every part is made here and nowhere else.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type CertificateAuthority, caGauges, createCertificateService, createRateLimit } from "../ca/index.ts";
import { createGraph } from "../collections/index.ts";
import { createHttpClient, createJwksResolver, type JwksResolver, type JwksResolverOptions } from "../fetch/index.ts";
import { createEventRecorder, createHttpSource, createKubeClient, type EventRecorder } from "../kube/index.ts";
import { createAddressGuard } from "../lib/index.ts";
import { istioVersion, types } from "../model/index.ts";
import { createDebugTypes, createMetrics, type DebugSources, measureProcess, versionInfo } from "../ops/index.ts";
import { createEnvoyTypes } from "../render/index.ts";
import { type Ads, createAds } from "../xds/index.ts";
import { authenticateWith, createStillThere, createTokenJudge, firstJudge } from "./authenticate.ts";
import { createCertificateHeld } from "./certificate-held.ts";
import { measureConflicts } from "./conflict-metrics.ts";
import { reportCredentials } from "./credential-reports.ts";
import { createConfigDump, createConfigDumpMessages } from "./debug/config-dump.ts";
import { createDebugViews } from "./debug/views.ts";
import { createDiffView, createLiveDiff } from "./diff/index.ts";
import type { DiscoveryAddresses, DiscoveryOptions } from "./discovery-options.ts";
import { pushEndpointsAtOnce } from "./endpoints-at-once.ts";
import { followExpired } from "./expired-certificates.ts";
import { createFreshSource } from "./fresh-source.ts";
import { createGatewayObjects } from "./gateway-objects.ts";
import { createIncrementalCheck, incrementalReports } from "./incremental-check.ts";
import { createInjection } from "./injection.ts";
import { createIssuerJudge } from "./issuer-judge.ts";
import { gatewayKinds, runLeader } from "./leader-work.ts";
import { measureModel } from "./model-metrics.ts";
import { countObjects } from "./object-metrics.ts";
import { createOwnRevision, ownStatuses } from "./own-revision.ts";
import { createPage, kindNames } from "./page.ts";
import { measureParts } from "./part-metrics.ts";
import { createPatchReports, forgetChanged } from "./patch-reports.ts";
import { createProgrammed, createProgrammedView } from "./programmed/index.ts";
import { proxyOfNode } from "./proxy-of-node.ts";
import { createPushReasons } from "./push-reasons.ts";
import { createGenerations, createQuarantine, type Filter } from "./quarantine/index.ts";
import { measureQueues } from "./queue-metrics.ts";
import { findRefusals, type Refusal, refusalsByObject } from "./refusals.ts";
import { createRegistration } from "./registration/index.ts";
import { renderAhead } from "./render-ahead.ts";
import { createRenderProblems } from "./render-problems.ts";
import { createResourceSource } from "./resource-source.ts";
import { createSecretAccess } from "./secret-access.ts";
import { startServers } from "./servers.ts";
import { createStages } from "./stages.ts";
import { createPeers, createTapSessions, createTapView, createTraffic, createTrafficView } from "./traffic/index.ts";
import { createTrust, createTrustView } from "./trust/index.ts";
import { watchObjects } from "./watched-kinds.ts";
import { createLiveWhy, createObjectOf, createWhyView } from "./why/index.ts";
import { createWorkloadSource } from "./workload-source.ts";

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
  const recorder = createEventRecorder({
    ...{ client, now, log: log.scope("events"), random: options.random },
    ...{ component: "fairlead", host: hostname() },
  });
  tellShortages(options, recorder);
  const queues = measureQueues(metrics);
  const inCluster = { cluster: options.cluster };
  metrics.count("controller_sync_errors_total", inCluster, 0);
  const source = createHttpSource({
    ...{ graph, client, log: log.scope("kube"), random: options.random, narrow: true },
    meter: queues(options.cluster),
    onFailure: () => metrics.count("controller_sync_errors_total", inCluster),
  });
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
    onDenied: () => metrics.count("pilot_sds_certificate_errors_total"),
  });

  // 2.-4. Decoded configs, services and endpoints, and the view that rendering reads.
  const configMap = options.revision === "" || options.revision === "default" ? "istio" : `istio-${options.revision}`;
  const stageOptions = {
    domain,
    cluster: options.cluster,
    configMap: `${namespace}/${configMap}`,
    revision: options.revision,
    ownHostsOnly: options.ownHostsOnly,
    maySeeSecrets: secretAccess.allows,
    // What is wrong with the certificates that they are given.
    onCredential: reportCredentials({
      ...{ graph, metrics, recorder, now, log: log.scope("secrets"), signal: running },
      secrets: watched.objects("", "Secret"),
      configMaps: watched.objects("", "ConfigMap"),
    }),
  };
  const keptEnvoyFilters = graph.source<Filter>("envoyfilters kept");
  const stages = createStages({
    ...stageOptions,
    graph,
    keptEnvoyFilters,
    expired: followExpired({ graph, secrets: watched.objects("", "Secret"), now, signal: running }),
    objects: watched.objects,
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
  watched
    .objects("networking.istio.io", "EnvoyFilter")
    .subscribe((key, next, before) => forgetChanged(patchReports, key, next, before));
  // 5. Resources per class of proxies, refreshed when something they read has changed.
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster: options.cluster };
  const pushReasons = createPushReasons(watched);
  const resources = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf: stages.classOf,
    admit(proxy) {
      if (proxy.targets.length === 0)
        metrics.count("pilot_k8s_proxies_with_no_service_targets", { reason: "no_matching_services" });
      return secretAccess.hold(proxy);
    },
    debounceMs: options.debounceMs,
    debounceMaxMs: options.debounceMaxMs,
    onFault: (proxy, { name, error }) => {
      metrics.count("fairlead_render_faults");
      log.error(
        `cannot render ${name} for ${proxy?.namespace ?? "all who share it"}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    },
    envoyTypes,
    onPatch: patchReports.report,
    onProblem: createRenderProblems(metrics, log.scope("render")),
    onDebounced: (waitedMs) => metrics.observe("pilot_debounce_time", waitedMs / 1000),
    onPush() {
      for (const type of pushReasons()) metrics.count("pilot_push_triggers", { type });
    },
    onMade: (tookMs) => metrics.observe("pilot_pushcontext_init_seconds", tookMs / 1000),
  });

  if (options.debounceEndpoints === false) pushEndpointsAtOnce(watched.objects, resources);
  // What a fleet that comes back will share is made before it may, while the parts beside wait for the API.
  const ahead = renderAhead({
    ...{ resources, classOf: stages.classOf, proxies: stages.likelySidecars },
    log: log.scope("render"),
    signal: running,
  });

  // Where asked for, what is given is compared with what a fresh start would give.
  const given = options.checkIncremental
    ? createIncrementalCheck({
        graph,
        source: resources,
        fresh: () =>
          createFreshSource(watched.all(), {
            ...stageOptions,
            fetchKeySets: () => ({ get: (key) => keySets?.keySets.get(key) }),
          }),
        ...incrementalReports(metrics, log.scope("incremental")),
        signal: running,
      })
    : resources;

  // And for their agents: who is at the addresses that they ask for.
  const workloads = createWorkloadSource(given, { ...options, graph, registry: stages.registry });

  // Beside it: the CA, and the roots that agents are told.
  const trustDomain = (): string => stages.settings.current().trustDomain ?? "cluster.local";
  const trust = await createTrust({
    ...options,
    client,
    secrets: watched.objects("", "Secret"),
    configMaps: watched.objects("", "ConfigMap"),
    hasOwnCa: options.hasOwnCa ?? true,
    external: options.externalCa,
    servingFiles: options.servingFiles,
    folder: options.caFolder,
    readsRevocations: options.revokedMap !== "",
    certificates: options.certificates,
    pace: options.rotationPace,
    trustDomain,
    settings: stages.settings,
    meshConfigMap: stageOptions.configMap,
    http: createHttpClient({ guard, ...options.keySets }),
    recorder,
    log: log.scope("trust"),
    signal: running,
  });

  // Beside it: workloads outside Kubernetes, which have an entry while they are connected.
  const registration = createRegistration(workloads, {
    ...{ graceMs: 10_000, enabled: { registration: true, health: true }, validateIdentity: true },
    ...options.registration,
    client,
    controller: options.identity,
    entries: watched.objects("networking.istio.io", "WorkloadEntry"),
    groups: watched.objects("networking.istio.io", "WorkloadGroup"),
    ...{ metrics, now, log: log.scope("wle"), random: options.random, signal: running },
  });

  // Beside it: what agents tell of the requests that their Envoys carry.
  const trafficLog = log.scope("traffic");
  const { endpoints } = stages.registry;
  const peers = createPeers({ ...options, endpoints, own: trust.own, log: trafficLog });
  const traffic = createTraffic({ ...options, registry: stages.registry, peers, metrics, log: trafficLog });

  const taps = createTapSessions({ ...traffic, monotonicMs: options.monotonicMs, log: trafficLog });

  const refusalNews = new Set<() => void>();
  // 6. xDS for proxies, with who they are proven by certificate or token.
  const ads: Ads = createAds({
    source: trust.tellRoots(registration),
    onHealth: registration.healthReported,
    identifier: JSON.stringify({ Component: "istiod", ID: options.identity, Info: versionInfo() }),
    ready: () => ready,
    log: log.scope("ads"),
    now,
    uuid: randomUUID,
    metrics,
    limits: options.pushThrottle === undefined ? {} : { maxConcurrentPushes: options.pushThrottle },
    virtualHosts: options.virtualHosts ?? true,
    onRefusals() {
      quarantine.look();
      for (const tell of refusalNews) tell();
    },
    overload: options.overload,
    other: {
      handles: (typeUrl) => debugTypes.handles(typeUrl),
      answer: (request) => debugTypes.answer(request),
    },
  });
  // EnvoyFilters that a proxy refuses are withheld from it, so that all else comes there.
  const quarantine = createQuarantine({
    ...{ graph, resources, ads },
    generations: createGenerations(stages.configs.envoyFilters),
    kept: keptEnvoyFilters,
    onChange: () => refusalNews.forEach((tell) => void tell()),
  });
  running.addEventListener("abort", quarantine.close, { once: true });
  // Which objects of users it was that proxies refuse.
  const refusals = (): readonly Refusal[] => [
    ...findRefusals(ads.refusing(), ({ node }, type, name) => resources.rendererOf(node)?.causes(type, name) ?? []),
    ...quarantine.refusals(),
  ];
  const namedKinds = new Map(kindNames().map(([name, { group, kind }]) => [name, watched.objects(group, kind)]));
  // And which generations of their objects proxies have.
  const programmed = createProgrammed({
    ...{ graph, resources, ads },
    kinds: namedKinds,
    withheld: quarantine.of,
    isOpen: quarantine.isOpen,
    isReady: (kind) => kind !== "EnvoyFilter" || envoyTypes.current() !== undefined,
  });
  // What becomes of a request, by what proxies have been sent.
  const why = createLiveWhy({
    ...{ stages, ads, resources, now },
    objectOf: createObjectOf(namedKinds, watched.objects),
  });
  // And what a change would do to them, before it is one.
  const shadow = createLiveDiff({
    ...{ graph, ads, objects: watched.all },
    settings: {
      ...{ domain, cluster: options.cluster, configMap: stageOptions.configMap, revision: options.revision },
      ...(options.ownHostsOnly === undefined ? {} : { ownHostsOnly: options.ownHostsOnly }),
    },
  });
  const { diff } = shadow;
  const written: Promise<void>[] = [];
  // And for whoever would rather look at a page.
  const page = createPage(options.dashboard, {
    ...{ graph, stages, ads, resources, programmed, refusals, trust, metrics, now, why, diff },
    ...{ kinds: namedKinds, objects: watched.objects, patches: patchReports, traffic, taps, client },
    monotonicMs: options.monotonicMs,
    ...{ access: options.access, log: log.scope("page"), signal: running },
    onEnd: (last) => written.push(last),
  });
  const debugSources: DebugSources = {
    systemNamespace: namespace,
    ads,
    refusals,
    views: createDebugViews({
      stages,
      ads,
      resources,
      configDump: createConfigDump(resources, ads),
      objects: watched.objects,
      injectSettings: () => injection.settings(),
      cluster: options.cluster,
      domain,
    })
      .set("ca", createTrustView(trust))
      .set("programmedz", createProgrammedView(programmed))
      .set("trafficz", createTrafficView(traffic))
      .set("whyz", createWhyView(why))
      .set("diffz", createDiffView(diff))
      .set("tapz", createTapView(taps)),
  };
  const debugTypes = createDebugTypes({
    ...debugSources,
    configDumpMessages: createConfigDumpMessages(resources, ads),
  });

  // Beside it: certificates.
  trust.follow(() => ads.followers(types.proxyConfig));
  const pods = watched.objects("", "Pod");
  const http = createHttpClient({ guard, ...options.keySets });
  const ofIssuers = (options.issuers ?? []).map((rule) =>
    createIssuerJudge({
      ...{ rule, http, trustDomain, now },
      monotonicMs: options.monotonicMs,
      log: log.scope("oidc"),
    }),
  );
  const audiences = options.tokenAudiences ?? ["istio-ca"];
  const ofApi = createTokenJudge({ ...options, client, pods, audiences, trustDomain });
  const judge = firstJudge(...ofIssuers, ofApi);
  const stillThere = createStillThere(client);
  const authenticate = authenticateWith(judge, createCertificateHeld({ stillThere, pods }), trust.acceptsPeer);
  const certificates =
    trust.signer &&
    createCertificateService({
      signer: trust.signer,
      authenticate: judge.identify,
      stillThere,
      acceptsPeer: trust.acceptsPeer,
      rateLimit: createRateLimit({
        perHolder: { burst: 100, perSecond: 10 },
        perAccount: { burst: 1000, perSecond: 100 },
        total: { burst: 2000, perSecond: 1000 },
        monotonicMs: options.monotonicMs,
      }),
      metrics,
      log,
    });

  // Beside it: Pods get their proxies, and Gateways what runs for them.
  const injection = createInjection({
    graph,
    stages,
    objects: watched.objects,
    namespace,
    revision: options.revision,
    cluster: options.cluster,
    ...options.injection,
    log: log.scope("injector"),
  });
  const isOwn = createOwnRevision({
    graph,
    revision: options.revision,
    namespaces: watched.objects("", "Namespace"),
    mutating: watched.objects("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    validating: watched.objects("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
  });
  const gatewayStatuses = ownStatuses(
    graph,
    stages.statuses,
    new Map(gatewayKinds.map(([group, kind]) => [kind, watched.objects(group, kind)])),
    isOwn,
  );
  const gatewayObjects = createGatewayObjects({
    graph,
    isOwn,
    workloads: stages.gatewayWorkloads,
    injection,
    gateways: watched.objects("gateway.networking.k8s.io", "Gateway"),
    configMaps: watched.objects("", "ConfigMap"),
    namespace,
    log: log.scope("gateway"),
  });

  const history = { close: () => Promise.all(written).then(() => {}) };
  const opened: { close(): Promise<void> }[] = [shadow, history];
  const close = (): Promise<void> => shutDown(stop, opened, [workloads, resources, source, client]);
  try {
    await ahead;
    const addresses = await startServers(options, {
      plainRoutes: ads.routes(() => undefined),
      secureRoutes: [
        ...ads.routes(authenticate),
        ...traffic.routes(async (call) => (await authenticate(call))?.identity),
        ...(certificates ? [certificates] : []),
      ],
      trust,
      judge,
      debug: debugSources,
      references: stages.references,
      injection,
      metrics,
      dashboard: page,
      ready: () => ready,
      opened,
      signal: running,
    });
    measureProcess(metrics, running, options);
    countObjects(metrics, watched);
    measureModel(metrics, { ...stages, graph, objects: watched.objects, resources });
    measureParts(metrics, resources);
    measureConflicts(metrics, {
      graph,
      domain,
      services: stages.registry.services,
      ...stages.configs,
      classes: resources.proxyClasses,
    });
    describeState(metrics, options, {
      authority: trust.own?.authority,
      stages,
      classes: () => resources.classes,
      waiting: ads.waiting,
      refused: () => [...refusalsByObject(refusals()).keys()],
      virtualServices: () => watched.objects("networking.istio.io", "VirtualService").size,
    });
    runLeader(options, {
      client,
      watched,
      stages,
      gatewayObjects,
      gatewayStatuses,
      patchReports,
      programmed,
      refusals: {
        byObject: () => refusalsByObject(refusals()),
        subscribe(listener) {
          refusalNews.add(listener);
          return () => refusalNews.delete(listener);
        },
      },
      recorder,
      metrics,
      queues,
      trust,
      signal: running,
    });
    ready = true;
    return { addresses, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** As Events of this Pod. */
function tellShortages({ overload, identity, namespace }: DiscoveryOptions, recorder: EventRecorder): void {
  const self = { apiVersion: "v1", kind: "Pod", metadata: { name: identity, namespace } };
  overload?.onBegin((cause, message) => {
    const reason = cause === "memory" ? "MemoryPressure" : "DescriptorPressure";
    recorder.record(self, "Warning", reason, message);
  });
}

function describeState(
  metrics: ReturnType<typeof createMetrics>,
  options: DiscoveryOptions,
  state: {
    authority: CertificateAuthority | undefined;
    stages: ReturnType<typeof createStages>;
    classes: () => number;
    /** Proxies that wait to be written to. */
    waiting: () => number;
    /** Objects, as `Kind/namespace/name`. */
    refused: () => readonly string[];
    virtualServices: () => number;
  },
): void {
  const started = options.monotonicMs();
  metrics.set("istio_build", 1, { component: "pilot", tag: istioVersion });
  metrics.set("pilot_info", 1, { version: istioVersion });
  metrics.onScrape(() => {
    metrics.set("istiod_uptime_seconds", (options.monotonicMs() - started) / 1000);
    metrics.set("pilot_services", state.stages.registry.services.size);
    metrics.set("pilot_virt_services", state.virtualServices());
    metrics.set("fairlead_classes", state.classes());
    metrics.set("fairlead_waiting_pushes", state.waiting());
    metrics.set("fairlead_refused_objects", state.refused().length);
    const gauges = state.authority ? caGauges(state.authority, options.now) : {};
    for (const [name, value] of Object.entries(gauges)) metrics.set(name, value);
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
