/** What only one of several control planes does: distributing the root, and writing back to the API what was found. */
import { hostname } from "node:os";
import { fencedClient, type KubeClient, runLeaderElection } from "../kube/index.ts";
import type { Metrics } from "../ops/index.ts";
import {
  runGatewayClasses,
  runProblemReports,
  runServiceEntryAddresses,
  runStatusWriter,
} from "./controllers/index.ts";
import type { DiscoveryOptions } from "./discovery-options.ts";
import type { PatchReports } from "./patch-reports.ts";
import { runRootDistribution } from "./root-distribution.ts";
import type { Stages } from "./stages.ts";
import { type WatchedObjects, watchedKind } from "./watched-kinds.ts";
import { runWebhookPatch } from "./webhooks.ts";

export interface LeaderParts {
  readonly client: KubeClient;
  readonly watched: WatchedObjects;
  readonly stages: Stages;
  readonly patchReports: PatchReports;
  readonly metrics: Metrics;
  roots(): string;
  readonly signal: AbortSignal;
}

/** Kinds whose statuses translation says. */
const gatewayApi = "gateway.networking.k8s.io";
const statusKinds: readonly (readonly [string, string])[] = [
  ...["GatewayClass", "Gateway", "ListenerSet", "BackendTLSPolicy"].map((kind) => [gatewayApi, kind] as const),
  ...["HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute"].map((kind) => [gatewayApi, kind] as const),
  ["networking.k8s.io", "Ingress"],
];

export function runLeader(options: DiscoveryOptions, parts: LeaderParts): void {
  const election = runLeaderElection({
    client: parts.client,
    namespace: options.namespace,
    name: "istio-leader",
    identity: `${hostname()}-${process.pid}`,
    now: options.now,
    monotonicMs: options.monotonicMs,
    log: options.log.scope("leader"),
    signal: parts.signal,
    lead: (signal) => startWork(options, { ...parts, client: fencedClient(parts.client, election), signal }),
  });
}

function startWork(
  options: DiscoveryOptions,
  { client, watched, stages, patchReports, metrics, roots, signal }: LeaderParts,
): void {
  const { objects } = watched;
  runRootDistribution({
    client,
    namespaces: objects("", "Namespace"),
    configMaps: objects("", "ConfigMap"),
    roots: roots,
    log: options.log,
    signal,
  });
  runWebhookPatch({
    client,
    configurations: objects("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    roots: roots,
    log: options.log,
    signal,
    revision: options.revision,
  });
  const shared = { client, random: options.random, signal };
  runServiceEntryAddresses({
    ...shared,
    serviceEntries: objects("networking.istio.io", "ServiceEntry"),
    discovered: stages.settings.discovered,
    log: options.log.scope("ip-autoallocate"),
  });
  runGatewayClasses({
    ...shared,
    classes: objects("gateway.networking.k8s.io", "GatewayClass"),
    log: options.log.scope("status"),
  });
  runStatusWriter({
    ...shared,
    statuses: stages.statuses,
    kinds: statusKinds.map(([group, kind]) => ({
      ref: watchedKind(group, kind),
      objects: objects(group, kind),
    })),
    now: options.now,
    log: options.log.scope("status"),
  });
  runProblemReports({
    ...shared,
    objects: objects,
    meshConfig: stages.settings.text,
    decoding: stages.problems,
    patches: patchReports,
    now: options.now,
    log: options.log.scope("analysis"),
    onProblem: (kind, { level }) => {
      if (level === "Error") metrics.count("pilot_total_rejected_configs", { type: kind.toLowerCase() });
    },
  });
}
