/**
 * The control plane on a Kubernetes API: watches in, xDS, certificates, metrics, debug and webhooks out. It reads as the
 * data flows; what each part takes is put together in `wiring/`.
 */

import { types } from "../model/index.ts";
import { createMetrics } from "../ops/index.ts";
import { reportCredentials } from "./credential-reports.ts";
import type { DiscoveryAddresses, DiscoveryOptions } from "./discovery-options.ts";
import { followExpired } from "./expired-certificates.ts";
import { createInjection } from "./injection.ts";
import { runLeader } from "./leader-work.ts";
import type { Filter } from "./quarantine/index.ts";
import { createRegistration } from "./registration/index.ts";
import { renderAhead } from "./render-ahead.ts";
import { createSecretAccess } from "./secret-access.ts";
import { startServers } from "./servers.ts";
import { createStages } from "./stages.ts";
import { createPeers, createTraffic } from "./traffic/index.ts";
import { createTrust } from "./trust/index.ts";
import { followApi } from "./wiring/api.ts";
import { createCallers } from "./wiring/callers.ts";
import { exportFigures } from "./wiring/figures.ts";
import { createGateways } from "./wiring/gateways.ts";
import { reachOutside } from "./wiring/outside.ts";
import type { Plane } from "./wiring/plane.ts";
import { createReading } from "./wiring/reading.ts";
import { checkIncremental, createResources, followPatches, loadPatchTypes } from "./wiring/resources.ts";
import { createXds } from "./wiring/xds.ts";
import { createWorkloadSource } from "./workload-source.ts";

export interface Discovery {
  /** Where everything is bound. */
  readonly addresses: DiscoveryAddresses;
  close(): Promise<void>;
}

export async function startDiscovery(options: DiscoveryOptions): Promise<Discovery> {
  const { log, now, namespace, domain } = options;
  const metrics = createMetrics();
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  let ready = false;

  // 1. Objects of the API, as collections that follow it.
  const api = followApi(options, metrics);
  const { graph, client, recorder, watched } = api;
  const plane: Plane = { ...api, options, metrics, signal };
  const secrets = watched.objects("", "Secret");
  const configMaps = watched.objects("", "ConfigMap");

  // Beside it: keys that verify tokens, from the network; and who may read Secrets, by the API's own word.
  const outside = reachOutside(plane);
  const secretAccess = createSecretAccess({
    ...{ graph, client, cluster: options.cluster, log: log.scope("secrets"), signal },
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
  };
  const keptEnvoyFilters = graph.source<Filter>("envoyfilters kept");
  const stages = createStages({
    ...{ ...stageOptions, graph, keptEnvoyFilters, objects: watched.objects },
    // What is wrong with the certificates that proxies are given.
    onCredential: reportCredentials({
      ...{ graph, metrics, recorder, now, log: log.scope("secrets"), signal, secrets, configMaps },
    }),
    expired: followExpired({ graph, secrets, now, signal }),
    fetchKeySets: outside.keySets.fetch,
  });
  await untilAborted(watched.synced(), signal);
  await untilAborted(outside.keySets.settled(), signal);

  // 5. Resources per class of proxies, refreshed when something they read has changed.
  const envoyTypes = await untilAborted(loadPatchTypes(plane), signal);
  const patchReports = followPatches(plane);
  const resources = createResources(plane, { stages, envoyTypes, patchReports, secretAccess });
  // What a fleet that comes will share is made before it may, while the parts beside wait for the API.
  const ahead = renderAhead({
    ...{ resources, proxies: stages.likelySidecars, runtime: options.runtime, log: log.scope("render"), signal },
    version: () => graph.version,
  });
  const freshOptions = { ...stageOptions, keptEnvoyFilters, fetchKeySets: outside.keySets.fetched };
  const given = checkIncremental(plane, resources, freshOptions, () => xds.ads.progress());
  // And for their agents: who is at the addresses that they ask for.
  const workloads = createWorkloadSource(given, { ...options, graph, registry: stages.registry });

  // Beside it: the CA, and the roots that agents are told.
  const trustDomain = (): string => stages.settings.current().trustDomain ?? "cluster.local";
  const trust = await createTrust({
    ...{ ...options, client, secrets, configMaps, trustDomain, recorder, signal },
    hasOwnCa: options.hasOwnCa ?? true,
    external: options.externalCa,
    servingFiles: options.servingFiles,
    certificates: options.certificates,
    folder: options.caFolder,
    readsRevocations: options.revokedMap !== "",
    pace: options.rotationPace,
    settings: stages.settings,
    meshConfigMap: stageOptions.configMap,
    http: outside.httpClient(),
    log: log.scope("trust"),
  });

  // Beside it: workloads outside Kubernetes, which have an entry while they are connected.
  const registration = createRegistration(workloads, {
    ...{ graceMs: 10_000, enabled: { registration: true, health: true }, validateIdentity: true },
    ...options.registration,
    ...{ client, metrics, now, signal, controller: options.identity, random: options.random, log: log.scope("wle") },
    entries: watched.objects("networking.istio.io", "WorkloadEntry"),
    groups: watched.objects("networking.istio.io", "WorkloadGroup"),
  });

  // Beside it: what agents tell of the requests that their Envoys carry.
  const { registry } = stages;
  const told = { ...options, log: log.scope("traffic") };
  const peers = createPeers({ ...told, endpoints: registry.endpoints, own: trust.own });
  const traffic = createTraffic({ ...told, registry, peers, metrics });

  // 6. xDS for proxies, and what they refuse of it.
  const xds = createXds(plane, {
    ...{ resources, stages, keptEnvoyFilters, ready: () => ready },
    source: trust.tellRoots(registration),
    onHealth: registration.healthReported,
    other: {
      handles: (typeUrl) => reading.debugTypes.handles(typeUrl),
      answer: (request) => reading.debugTypes.answer(request),
    },
  });
  trust.follow(() => xds.ads.followers(types.proxyConfig));

  // 7. What people read of it.
  const reading = createReading(plane, {
    ...{ stages, resources, envoyTypes, patchReports, xds, trust, traffic, configMap: stageOptions.configMap },
    injectSettings: () => injection.settings(),
  });

  // Beside it: who callers are, and their certificates.
  const { judge, authenticate, certificates } = createCallers(plane, {
    ...{ trust, trustDomain, http: outside.httpClient() },
  });

  // Beside it: Pods get their proxies, and Gateways what runs for them.
  const injection = createInjection({
    ...{ graph, stages, objects: watched.objects, namespace, revision: options.revision, cluster: options.cluster },
    ...options.injection,
    log: log.scope("injector"),
  });
  const gateways = createGateways(plane, { stages, injection });

  const opened: { close(): Promise<void> }[] = [reading];
  const close = (): Promise<void> => shutDown(stop, opened, [workloads, resources, api]);
  try {
    await ahead;
    options.runtime?.collect();
    // The ports open when everything behind them is there.
    const addresses = await startServers(options, {
      plainRoutes: xds.ads.routes(() => undefined),
      secureRoutes: [
        ...xds.ads.routes(authenticate),
        ...traffic.routes(async (call) => (await authenticate(call))?.identity),
        ...(certificates ? [certificates] : []),
      ],
      ...{ trust, judge, injection, metrics, opened, signal, ready: () => ready },
      debug: reading.debug,
      references: stages.references,
      dashboard: reading.page,
    });
    exportFigures(plane, { stages, resources, xds, authority: trust.own?.authority });
    // What is written back to the API, by one of several control planes.
    runLeader(options, {
      ...{ ...api, ...gateways, stages, patchReports, metrics, trust, signal, programmed: reading.programmed },
      refusals: { byObject: xds.refusalsByObject, subscribe: xds.onRefusals },
    });
    ready = true;
    return { addresses, close };
  } catch (error) {
    await close();
    throw error;
  }
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
