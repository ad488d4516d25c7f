/**
 * Objects in; the control plane's own stages, renderers and ADS server out, over objects in memory instead of an API.
 * Everything after the watch is what `fairlead discovery` runs.
 */
import { randomUUID } from "node:crypto";
import { createGraph } from "../../src/collections/index.ts";
import { createIncrementalCheck } from "../../src/control-plane/incremental-check.ts";
import { proxyOfNode } from "../../src/control-plane/proxy-of-node.ts";
import { createFreshSource } from "../../src/control-plane/source/fresh-source.ts";
import { createResourceSource } from "../../src/control-plane/source/resource-source.ts";
import { createStages, type StagesOptions } from "../../src/control-plane/stages.ts";
import { createTraffic, type Traffic } from "../../src/control-plane/traffic/index.ts";
import { watchObjects } from "../../src/control-plane/watched-kinds.ts";
import { createWorkloadSource } from "../../src/control-plane/workload-source.ts";
import { createMemorySource } from "../../src/kube/index.ts";
import { silentLogger, wait } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { createMetrics } from "../../src/ops/index.ts";
import type { Renderer } from "../../src/render/index.ts";
import type { Route } from "../../src/rpc/index.ts";
import { type Ads, createAds } from "../../src/xds/index.ts";

export interface ControlPlane {
  readonly ads: Ads;
  readonly traffic: Traffic;
  apply(objects: readonly KubeObject[]): void;
  remove(objects: readonly KubeObject[]): void;
  /** For a proxy whose account is taken for proven. */
  routes(serviceAccount: string, namespace?: string): readonly Route[];
  rendererOf(nodeId: string): Renderer | undefined;
  /** Resolves when every proxy has taken everything; throws after 20 s, naming what it refused or holds back. */
  settled(timeoutMs?: number): Promise<void>;
  /** Everything that a connected proxy has ever refused. */
  refusals(): readonly string[];
  /** Compares what all who are connected have with a fresh start; how many comparisons there were so far. */
  look(): Promise<number>;
  /** After a last look. */
  close(): Promise<void>;
}

/** Everybody may read Secrets where it is not said who. */
export type ControlPlaneOptions = Pick<StagesOptions, "maySeeSecrets">;

const domain = "cluster.local";
const cluster = "Kubernetes";

export function createControlPlane(objects: Iterable<KubeObject>, options: ControlPlaneOptions = {}): ControlPlane {
  const graph = createGraph();
  const source = createMemorySource({ graph, objects });
  const watched = watchObjects(source);
  const stageOptions = { domain, cluster, configMap: "istio-system/istio", ...options };
  const stages = createStages({ ...stageOptions, graph, objects: watched.objects });
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster };
  const faults: string[] = [];
  let comparisons = 0;
  const resources = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf: stages.classOf,
    debounceMs: 5,
    debounceMaxMs: 50,
    onFault: (_, { name, error }) => faults.push(`${name}: ${String(error)}`),
  });
  const stop = new AbortController();
  // All that is done to these proxies also shows whether they get what a fresh start would give them.
  const checked = createIncrementalCheck({
    graph,
    source: resources,
    fresh: () => createFreshSource(watched.all(), stageOptions),
    progress: () => ads.progress(),
    onChecked(differences) {
      comparisons++;
      faults.push(...differences.map(({ node, type, name }) => `${type} ${name} of ${node} is outdated`));
    },
    onFault: (error) => faults.push(`the comparison with a fresh start has ended: ${String(error)}`),
    signal: stop.signal,
  });
  const workloads = createWorkloadSource(checked, {
    graph,
    registry: stages.registry,
    debounceMs: 5,
    debounceMaxMs: 50,
  });
  const ads = createAds({
    source: workloads,
    identifier: "test",
    ready: () => true,
    log: silentLogger,
    now: () => new Date(),
    uuid: randomUUID,
  });
  const traffic = createTraffic({
    ...{
      registry: stages.registry,
      namespace: "istio-system",
      metrics: createMetrics(),
      tapHeaders: ["user-agent"],
      log: silentLogger,
    },
    ...{ now: () => new Date(), monotonicMs: () => performance.now() },
  });
  return {
    ads,
    traffic,
    apply: source.apply,
    remove: (gone) => {
      for (const object of gone) source.remove(object);
    },
    routes: (serviceAccount, namespace = "default") =>
      ads.routes(() => ({ identity: { trustDomain: domain, namespace, serviceAccount } })),
    rendererOf(nodeId) {
      const proxy = ads.status().find(({ node }) => node.id === nodeId);
      return proxy && resources.rendererOf(proxy.node);
    },
    async settled(timeoutMs = 120_000) {
      await resources.flush();
      const deadline = Date.now() + timeoutMs;
      // A push starts some turns after the flush: quiet counts only when it lasts.
      for (let quiet = 0; quiet < 3; quiet = unsettled(ads).length === 0 ? quiet + 1 : 0) {
        if (Date.now() > deadline) throw new Error(`not settled: ${unsettled(ads).join("; ")}`);
        await wait(10);
      }
      if (faults.length > 0) throw new Error(`render faults: ${faults.join("; ")}`);
    },
    refusals: () =>
      ads
        .status()
        .flatMap(({ node, types }) =>
          types.filter(({ nackedAt }) => nackedAt).map(({ type, lastError }) => `${node.id} ${type} ${lastError}`),
        ),
    async look() {
      await checked.look();
      return comparisons;
    },
    async close() {
      await checked.look();
      stop.abort();
      workloads.close();
      resources.close();
      if (faults.length > 0) throw new Error(`faults of ours: ${faults.join("; ")}`);
    },
  };
}

/** What still is under way, or was refused, in words. */
function unsettled(ads: Ads): readonly string[] {
  return ads
    .status()
    .flatMap(({ node, types, held }) => [
      ...(types.length < 2 ? [`${node.id} has asked for ${types.length} types`] : []),
      ...held.map(({ name, clusters }) => `${name} waits for ${clusters.join(", ")}`),
      ...types
        .filter(({ ackedNonce, sentNonce }) => ackedNonce !== sentNonce || sentNonce === "")
        .map(({ type, lastError }) => `${node.id} ${type}: ${lastError || "not acknowledged"}`),
    ]);
}
