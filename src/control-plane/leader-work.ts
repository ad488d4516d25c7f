/** What only one of several control planes does: distributing the root, and writing back to the API what was found. */
import { controlPlaneService } from "../ca/index.ts";
import type { Collection } from "../collections/index.ts";
import {
  createConfigMapLock,
  createLeaseLock,
  type EventRecorder,
  fencedClient,
  type KubeClient,
  runLeaderElection,
} from "../kube/index.ts";
import { readList, readRecord, readText } from "../lib/index.ts";
import { type KubeObject, programmedKinds } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { ObjectStatus } from "../translate/index.ts";
import {
  type ProblemReportsOptions,
  refusedCode,
  runGatewayClasses,
  runGatewayDeployments,
  runProblemReports,
  runServiceEntryAddresses,
  runStatusWriter,
} from "./controllers/index.ts";
import type { DiscoveryOptions } from "./discovery-options.ts";
import { defaultTagName } from "./own-revision.ts";
import type { PatchReports } from "./patch-reports.ts";
import { type Programmed, runProgrammedStatus } from "./programmed/index.ts";
import type { QueueMeters } from "./queue-metrics.ts";
import type { Stages } from "./stages.ts";
import { runRootDistribution, runWebhookBundles, type Trust } from "./trust/index.ts";
import { type WatchedObjects, watchedKind } from "./watched-kinds.ts";

export interface LeaderParts {
  readonly client: KubeClient;
  readonly watched: WatchedObjects;
  readonly stages: Stages;
  /** What has to be there for Gateway API Gateways. */
  readonly gatewayObjects: Collection<KubeObject>;
  /** What statuses of the Gateway API's objects should say, where they are ours to write. */
  readonly gatewayStatuses: Collection<ObjectStatus>;
  readonly patchReports: PatchReports;
  readonly refusals: ProblemReportsOptions["refusals"];
  /** Which generations of objects proxies have. */
  readonly programmed: Programmed;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  /** Of the work of each task, by istiod's names of it where there are such. */
  readonly queues: QueueMeters;
  readonly trust: Trust;
  readonly signal: AbortSignal;
}

/** Kinds whose statuses translation says. */
const gatewayApi = "gateway.networking.k8s.io";
const admission = "admissionregistration.k8s.io";
export const gatewayKinds: readonly (readonly [string, string])[] = [
  ...["GatewayClass", "Gateway", "ListenerSet", "BackendTLSPolicy"].map((kind) => [gatewayApi, kind] as const),
  ...["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"].map((kind) => [gatewayApi, kind] as const),
];

/** One kind of work that only one control plane does at a time, and the lock that istiod has for it. */
interface Task {
  readonly lock: string;
  readonly on: "lease" | "configmap";
  /** One leader for each revision; else one for all, and the default revision takes it from others. */
  readonly perRevision?: true;
  run(options: DiscoveryOptions, parts: LeaderParts): void;
}

const tasks: readonly Task[] = [
  { lock: "istio-namespace-controller-election", on: "configmap", run: distributeRoots },
  { lock: "fairlead-root-rotation", on: "configmap", run: rotateRoots },
  { lock: "istio-webhook-ca", on: "lease", perRevision: true, run: patchWebhooks },
  { lock: "istio-ip-autoallocate", on: "configmap", run: allocateAddresses },
  { lock: "istio-gateway-status-leader", on: "lease", perRevision: true, run: writeGatewayStatuses },
  { lock: "istio-gateway-deployment", on: "lease", perRevision: true, run: deployGateways },
  { lock: "istio-leader", on: "configmap", run: writeIngressStatuses },
  { lock: "istio-status-leader", on: "configmap", run: writeProgrammed },
  { lock: "istio-analyze-leader", on: "configmap", run: reportProblems },
];

export function runLeader(options: DiscoveryOptions, parts: LeaderParts): void {
  const revision = options.revision || "default";
  const defaultTag = parts.watched.objects(admission, "MutatingWebhookConfiguration");
  const isDefault = (): boolean => defaultTag.get(defaultTagName)?.metadata.labels?.["istio.io/rev"] === revision;
  if (options.leaderElection === false) {
    for (const task of tasks) task.run(options, parts);
    return;
  }
  for (const task of tasks) {
    const ref = {
      client: parts.client,
      namespace: options.namespace,
      name: task.perRevision ? `${task.lock}-${revision}` : task.lock,
    };
    const election = runLeaderElection({
      lock: task.on === "lease" ? createLeaseLock(ref) : createConfigMapLock(ref),
      identity: options.identity,
      ...(task.perRevision ? {} : { key: revision, mayTakeFrom: (key) => key !== revision && isDefault() }),
      now: options.now,
      monotonicMs: options.monotonicMs,
      log: options.log.scope("leader"),
      signal: parts.signal,
      lead: (signal) => task.run(options, { ...parts, client: fencedClient(parts.client, election), signal }),
    });
  }
}

function distributeRoots(options: DiscoveryOptions, parts: LeaderParts): void {
  const { client, watched, stages, trust, queues, signal } = parts;
  // Whoever else is the CA tells its roots itself.
  if (options.hasOwnCa === false && !trust.signer) return;
  runRootDistribution({
    client,
    namespaces: stages.settings.namespaces,
    configMaps: watched.objects("", "ConfigMap"),
    roots: trust.serving.roots,
    revoked: trust.own?.revoked ?? (() => ""),
    revokedMap: options.revokedMap ?? "istio-ca-crl",
    onRoots(changed) {
      const stops = [trust.serving.onReplaced(changed), trust.own?.wanted.subscribe(changed)];
      return () => stops.forEach((stop) => void stop?.());
    },
    log: options.log,
    meter: queues("namespace controller"),
    random: options.random,
    signal,
  });
}

/** Control planes of all revisions have the same CA. */
function rotateRoots({ namespace }: DiscoveryOptions, { trust, watched, client, signal }: LeaderParts): void {
  const isOurs = (service: string): boolean => /^istiod(-|$)/.test(service) && service !== "istiod-remote";
  trust.own?.drive({ client, signal, replicas: () => countReplicas(namespace, watched, isOurs) });
}

function patchWebhooks(options: DiscoveryOptions, parts: LeaderParts): void {
  const { client, watched, trust, metrics, queues, signal } = parts;
  runWebhookBundles({
    client,
    validating: watched.objects(admission, "ValidatingWebhookConfiguration"),
    mutating: watched.objects(admission, "MutatingWebhookConfiguration"),
    roots: trust.serving.roots,
    onRoots: trust.serving.onReplaced,
    revision: options.revision,
    namespace: options.namespace,
    metrics,
    log: options.log.scope("webhooks"),
    meters: { validating: queues("validation"), mutating: queues("webhook patcher") },
    random: options.random,
    signal,
  });
}

function allocateAddresses(options: DiscoveryOptions, { client, watched, stages, queues, signal }: LeaderParts): void {
  runServiceEntryAddresses({
    client,
    serviceEntries: watched.objects("networking.istio.io", "ServiceEntry"),
    discovered: stages.settings.discovered,
    log: options.log.scope("ip-autoallocate"),
    meter: queues("ip-autoallocate"),
    random: options.random,
    signal,
  });
}

function writeGatewayStatuses(options: DiscoveryOptions, parts: LeaderParts): void {
  runGatewayClasses({
    client: parts.client,
    classes: parts.watched.objects(gatewayApi, "GatewayClass"),
    log: options.log.scope("status"),
    meter: parts.queues("gateway class"),
    random: options.random,
    signal: parts.signal,
  });
  writeStatuses(options, parts, parts.gatewayStatuses, gatewayKinds, "gateway status");
}

function deployGateways(options: DiscoveryOptions, parts: LeaderParts): void {
  const { client, watched, gatewayObjects, queues, signal } = parts;
  if (options.gatewayDeployments === false) return;
  runGatewayDeployments({
    client,
    wanted: gatewayObjects,
    present: [
      watched.objects("apps", "Deployment"),
      watched.objects("", "ServiceAccount"),
      watched.objects("", "Service"),
    ],
    log: options.log.scope("gateway"),
    meter: queues("gateway deployment"),
    random: options.random,
    signal,
  });
}

function writeIngressStatuses(options: DiscoveryOptions, parts: LeaderParts): void {
  writeStatuses(options, parts, parts.stages.statuses, [["networking.k8s.io", "Ingress"]], "ingress status");
}

function writeStatuses(
  options: DiscoveryOptions,
  { client, watched, queues, signal }: LeaderParts,
  statuses: Collection<ObjectStatus>,
  kinds: readonly (readonly [string, string])[],
  queueID: string,
): void {
  runStatusWriter({
    client,
    statuses,
    kinds: kinds.map(([group, kind]) => ({ ref: watchedKind(group, kind), objects: watched.objects(group, kind) })),
    now: options.now,
    log: options.log.scope("status"),
    meter: queues(queueID),
    random: options.random,
    signal,
  });
}

function writeProgrammed(
  options: DiscoveryOptions,
  { client, watched, programmed, refusals, queues, signal }: LeaderParts,
): void {
  if (options.programmedStatus === false) return;
  runProgrammedStatus({
    ...{ client, programmed, refusals, signal },
    kinds: new Map(
      programmedKinds.map(({ group, kind }) => [
        kind,
        { ref: watchedKind(group, kind), objects: watched.objects(group, kind) },
      ]),
    ),
    replicas: () =>
      countReplicas(options.namespace, watched, (service) => service === controlPlaneService(options.revision)),
    now: options.now,
    log: options.log.scope("status"),
    meter: queues("programmed status"),
    random: options.random,
  });
}

/** Ready addresses of the control plane's own Services, of one family: a replica may have one of each. */
function countReplicas(namespace: string, { objects }: WatchedObjects, isOwn: (service: string) => boolean): number {
  const slices = objects("discovery.k8s.io", "EndpointSlice");
  const own = slices
    .keys()
    .filter((key) => key.startsWith(`${namespace}/`))
    .flatMap((key) => slices.get(key) ?? [])
    .filter(({ metadata }) => isOwn(metadata.labels?.["kubernetes.io/service-name"] ?? ""));
  const families = new Map<string, Set<unknown>>();
  for (const { addressType, endpoints } of own) {
    const ready = families.get(readText(addressType)) ?? new Set();
    families.set(readText(addressType), ready);
    for (const { conditions, addresses } of readList(endpoints).map(readRecord))
      if (readRecord(conditions).ready !== false) for (const address of readList(addresses)) ready.add(address);
  }
  return Math.max(1, ...[...families.values()].map(({ size }) => size));
}

function reportProblems(options: DiscoveryOptions, parts: LeaderParts): void {
  const { client, watched, stages, patchReports, refusals, recorder, metrics, queues, signal } = parts;
  runProblemReports({
    client,
    writesStatus: options.analysis,
    objects: watched.objects,
    meshConfig: stages.settings.text,
    decoding: stages.problems,
    patches: patchReports,
    refusals,
    now: options.now,
    log: options.log.scope("analysis"),
    meter: queues("analysis status"),
    random: options.random,
    signal,
    onProblem: (kind, { code, level, message }, object) => {
      if (level === "Error") metrics.count("pilot_total_rejected_configs", { type: kind.toLowerCase() });
      if (code === refusedCode && object) recorder.record(object, "Warning", "RefusedByProxy", message);
    },
  });
}
