/** Objects in memory in; the mesh and its proxies out, by the same stages that serve a cluster. For `render`, `analyze`, tests. */
import { createGraph } from "../collections/index.ts";
import { unfetchedKeySet } from "../fetch/index.ts";
import { createMemorySource, type MemorySource } from "../kube/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { KubeObject, Proxy, ProxyClass } from "../model/index.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

export interface OfflineOptions {
  /** Objects labelled for another revision are left alone. */
  readonly revision?: string;
  readonly objects: Iterable<KubeObject>;
  /** Routes for the mesh hold only for hosts of their own namespace. */
  readonly ownHostsOnly?: boolean;
  /** MeshConfig; wins over ConfigMap istio-system/istio. */
  readonly meshConfig?: Readonly<Record<string, unknown>>;
}

export interface Offline {
  readonly mesh: Mesh;
  readonly source: MemorySource;
  proxies(): readonly Proxy[];
  classOf(proxy: Proxy): ProxyClass;
  problems(): readonly string[];
}

export function createOffline(options: OfflineOptions): Offline {
  const faults: string[] = [];
  const graph = createGraph({ onFault: (what, error) => faults.push(`${what} was left out: ${String(error)}`) });
  const memory = createMemorySource({ graph });
  const source: MemorySource = { ...memory, apply: (objects) => memory.apply([...objects].map(dated)) };
  source.apply(options.objects);
  const stages = createStages({
    graph,
    objects: watchObjects(source).objects,
    domain: "cluster.local",
    cluster: "Kubernetes",
    configMap: "istio-system/istio",
    fetchKeySets: () => ({ get: () => unfetchedKeySet }),
    revision: options.revision,
    ownHostsOnly: options.ownHostsOnly,
    meshConfig: options.meshConfig && JSON.stringify(options.meshConfig),
  });
  return {
    mesh: stages.mesh,
    source,
    proxies: stages.podProxies,
    classOf: stages.classOf,
    problems: () => [
      ...faults,
      ...stages.problems().map(({ object, path, message }) => `${object}${path === "" ? "" : ` ${path}`}: ${message}`),
    ],
  };
}

/**
 * An API server dates every object, so only what the control plane makes itself, such as the Gateway of an Ingress, has no
 * date and comes before all others. Files rarely have dates: theirs count as older than any, and equal.
 */
function dated(object: KubeObject): KubeObject {
  if (object.metadata.creationTimestamp) return object;
  return { ...object, metadata: { ...object.metadata, creationTimestamp: "1970-01-01T00:00:00Z" } };
}
