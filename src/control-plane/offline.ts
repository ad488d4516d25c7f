/** Objects in memory in; the mesh and its proxies out, by the same stages that serve a cluster. For `render`, `analyze`, tests. */
import { createGraph } from "../collections/index.ts";
import { unfetchedKeySet } from "../fetch/index.ts";
import { createMemorySource, type MemorySource } from "../kube/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { Identity, KubeObject, Proxy, ProxyClass } from "../model/index.ts";
import type { ProxyNode } from "../xds/index.ts";
import { proxyOfNode } from "./proxy-of-node.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

export interface OfflineOptions {
  /** Objects labelled for another revision are left alone. */
  readonly revision?: string;
  readonly objects: Iterable<KubeObject>;
  /** Routes for the mesh hold only for hosts of their own namespace. */
  readonly ownHostsOnly?: boolean;
  /** MeshConfig; wins over the ConfigMap. */
  readonly meshConfig?: Readonly<Record<string, unknown>>;
  /** `namespace/name` of the ConfigMap with the mesh config; absent: istio-system/istio. */
  readonly configMap?: string;
  /** Absent: cluster.local. */
  readonly domain?: string;
  /** What the cluster is called; absent: Kubernetes. */
  readonly cluster?: string;
}

export interface Offline {
  readonly mesh: Mesh;
  readonly source: MemorySource;
  proxies(): readonly Proxy[];
  /** `namespace/name` of all Pods, and the proxy that one says it has. */
  podKeys(): readonly string[];
  podProxy(key: string): Proxy | undefined;
  /** One that introduces itself so, with the identity that it has proven. */
  proxyOf(node: ProxyNode, identity: Identity | undefined): Proxy;
  classOf(proxy: Proxy): ProxyClass;
  problems(): readonly string[];
}

export function createOffline(options: OfflineOptions): Offline {
  const faults: string[] = [];
  const graph = createGraph({ onFault: (what, error) => faults.push(`${what} was left out: ${String(error)}`) });
  const memory = createMemorySource({ graph });
  const source: MemorySource = { ...memory, apply: (objects) => memory.apply([...objects].map(dated)) };
  source.apply(options.objects);
  const { domain = "cluster.local", cluster = "Kubernetes", configMap = "istio-system/istio" } = options;
  const stages = createStages({
    graph,
    objects: watchObjects(source).objects,
    domain,
    cluster,
    configMap,
    fetchKeySets: () => ({ get: () => unfetchedKeySet }),
    revision: options.revision,
    ownHostsOnly: options.ownHostsOnly,
    meshConfig: options.meshConfig && JSON.stringify(options.meshConfig),
  });
  return {
    mesh: stages.mesh,
    source,
    proxies: stages.podProxies,
    podKeys: stages.podKeys,
    podProxy: stages.podProxy,
    proxyOf: (node, identity) =>
      proxyOfNode(node, { mesh: stages.mesh, registry: stages.registry, domain, cluster }, identity),
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
