/** The stages from objects to the mesh, in the order in which data flows through them. Nothing else constructs a stage. */
import { type Collection, createGraph, type Graph, unionOf } from "../collections/index.ts";
import type { Problem } from "../config/index.ts";
import { classify, createMesh, type Mesh, type MeshConfigs, type MeshInputs, type Withheld } from "../mesh/index.ts";
import type { Config, KubeObject, Proxy, ProxyClass, RequestAuthenticationSpec } from "../model/index.ts";
import {
  connectingProxy,
  createRegistry,
  plainSidecar,
  proxyOfPod,
  type Registry,
  readPod,
  versionOfProxy,
} from "../registry/index.ts";
import {
  createGatewayApi,
  createIngress,
  createIngressStatuses,
  type GatewayWorkload,
  type ObjectStatus,
} from "../translate/index.ts";
import { createConfigs } from "./configs.ts";
import { ownHostsOnly } from "./own-hosts.ts";
import { createReferences, type References } from "./references.ts";
import { createSettings, type Settings } from "./settings.ts";

export interface StagesOptions {
  readonly graph?: Graph;
  /** Stage 1: the objects of one kind, from a watch or from memory. */
  readonly objects: (group: string, kind: string) => Collection<KubeObject>;
  readonly domain: string;
  readonly cluster: string;
  readonly meshConfig?: string | undefined;
  /** `namespace/name` of the ConfigMap with the mesh config. */
  readonly configMap: string;
  /** Objects labelled for another revision are left alone; absent or empty: all count. */
  readonly revision?: string | undefined;
  /** Routes for the mesh hold only for hosts of their own namespace. */
  readonly ownHostsOnly?: boolean | undefined;
  /** Generations before of EnvoyFilters, for proxies that refuse the newest. */
  readonly keptEnvoyFilters?: MeshInputs["keptEnvoyFilters"];
  /** Whether an account may read Secrets; absent: every one may, as offline. */
  readonly maySeeSecrets?: MeshInputs["maySeeSecrets"];
  /** Of Secrets whose certificate has expired, when it did. */
  readonly expired?: Collection<Date>;
  readonly onCredential?: MeshInputs["onCredential"];
  /** Fetches the keys that RequestAuthentications refer to; absent: none are known. */
  readonly fetchKeySets?: (requests: Collection<Config<RequestAuthenticationSpec>>) => MeshInputs["keySets"];
}

export interface Stages {
  readonly graph: Graph;
  readonly settings: Settings;
  readonly registry: Registry;
  /** What users wrote, and what was made of Ingresses and the Gateway API's objects. */
  readonly configs: Pick<MeshConfigs, "virtualServices" | "destinationRules" | "envoyFilters">;
  readonly mesh: Mesh;
  /** What the statuses of the Gateway API's objects and of Ingresses should say, by `Kind/namespace/name`. */
  readonly statuses: Collection<ObjectStatus>;
  /** What has to run for Gateway API Gateways, by their keys. */
  readonly gatewayWorkloads: Collection<GatewayWorkload>;
  /** What is wrong with objects, as far as it was met. */
  problems(): readonly Problem[];
  /** The proxies that Pods say they have. */
  podProxies(): readonly Proxy[];
  /** `namespace/name` of all Pods. */
  podKeys(): readonly string[];
  /** The one that a Pod (`namespace/name`) says it has. */
  podProxy(key: string): Proxy | undefined;
  /** The sidecar of each namespace that one is likely to come from, as far as its class is shared with others there. */
  likelySidecars(): Iterable<Proxy>;
  classOf(proxy: Proxy, withheld?: Withheld): ProxyClass;
  /** What an object refers to that is not there. */
  readonly references: References;
}

export function createStages(options: StagesOptions): Stages {
  const graph = options.graph ?? createGraph();
  const { objects, domain, cluster } = options;
  const pods = objects("", "Pod");

  // MeshConfig and discovery selectors: what applies to everything after.
  const settings = createSettings(graph, {
    configMaps: objects("", "ConfigMap"),
    namespaces: objects("", "Namespace"),
    configMap: options.configMap,
    meshConfig: options.meshConfig,
  });
  // Raw objects become typed specs; what cannot be decoded is left out, with its reason.
  const { configs, serviceEntries, workloadEntries, gatewayApi, problems } = createConfigs(
    graph,
    objects,
    (object) => isOfRevision(object, options.revision) && settings.discovered(object),
  );
  // Ingresses become gateways and routes like those that users write.
  const ingress = createIngress(graph, {
    domain,
    ingresses: objects("networking.k8s.io", "Ingress"),
    classes: objects("networking.k8s.io", "IngressClass"),
    services: objects("", "Service"),
    settings: settings.current,
    discovered: settings.discovered,
  });
  // Services, slices, pods and nodes become services, endpoints and workloads.
  const registry = createRegistry(graph, objects, {
    domain,
    cluster,
    settings: settings.current,
    discovered: settings.discovered,
    serviceEntries,
    workloadEntries,
  });
  // So do the Gateway API's objects; some name services of any registry.
  const hosts = graph.index(registry.services, "any host", (service) => [service.host]);
  const translated = createGatewayApi(graph, {
    domain,
    configs: gatewayApi,
    services: objects("", "Service"),
    namespaces: objects("", "Namespace"),
    secrets: objects("", "Secret"),
    configMaps: objects("", "ConfigMap"),
    expired: options.expired,
    serviceEntries,
    service: (key) => registry.services.get(key),
    endpoints: registry.endpoints,
    namespacesOfHost: (host) => hosts.get(host).map((key) => key.slice(0, key.indexOf("/"))),
  });
  // Where Ingresses are reached.
  const ingressStatuses = createIngressStatuses(graph, {
    ingresses: ingress.ingresses,
    services: objects("", "Service"),
    pods: objects("", "Pod"),
    nodes: objects("", "Node"),
    settings: settings.current,
  });
  // Whose hosts a namespace may route, where that is bounded.
  const routes = options.ownHostsOnly
    ? ownHostsOnly(graph, configs.virtualServices, {
        domain,
        rootNamespace: () => settings.current().rootNamespace ?? "",
        namespacesOfHost: (host) => hosts.get(host).map((key) => key.slice(0, key.indexOf("/"))),
      })
    : configs.virtualServices;
  // Keys that verify tokens, from the network.
  const keySets = options.fetchKeySets?.(configs.requestAuthentications);
  const all: MeshConfigs = {
    ...configs,
    gateways: unionOf("gateways and ingresses", [configs.gateways, ingress.gateways, translated.gateways]),
    virtualServices: unionOf("routes and ingresses", [routes, ingress.virtualServices, translated.virtualServices]),
    destinationRules: unionOf("traffic rules", [configs.destinationRules, translated.destinationRules]),
  };
  // Visibility, scopes and effective policy.
  const mesh = createMesh(graph, {
    domain,
    settings: settings.current,
    services: registry.services,
    endpoints: registry.endpoints,
    secrets: objects("", "Secret"),
    configMaps: objects("", "ConfigMap"),
    ...(keySets ? { keySets } : {}),
    ...(options.keptEnvoyFilters ? { keptEnvoyFilters: options.keptEnvoyFilters } : {}),
    ...(options.maySeeSecrets ? { maySeeSecrets: options.maySeeSecrets } : {}),
    ...(options.onCredential ? { onCredential: options.onCredential } : {}),
    configs: all,
  });

  const references = createReferences(graph, {
    domain,
    knowsHost: (host) => hosts.get(host).length > 0,
    gateways: configs.gateways,
    destinationRules: configs.destinationRules,
  });

  const context = {
    domain,
    cluster,
    node: (name: string) => registry.nodes.get(name),
    proxyConfig: mesh.proxyConfig,
  };
  // A proxy may ask whatever its namespace: discovery selectors only keep others from finding it.
  const podProxy = (key: string): Proxy | undefined => {
    const pod = pods.get(key);
    return pod && proxyOfPod(readPod(pod), context, versionOfProxy(pod));
  };
  function* likelySidecars(): Generator<Proxy> {
    const seen = new Set<string>();
    const namespaceOf = (key: string): string => key.slice(0, key.indexOf("/"));
    for (const key of pods.keys()) {
      const pod = seen.has(namespaceOf(key)) ? undefined : pods.get(key);
      const proxy = pod && podProxy(key);
      if (!pod || proxy?.type !== "sidecar") continue;
      seen.add(namespaceOf(key));
      yield connectingProxy(proxy, pod);
    }
    // What a patch does to a proxy that is not there would be told as if it were.
    if (seen.size > 0 || all.envoyFilters.size > 0) return;
    for (const key of registry.services.keys()) {
      if (seen.has(namespaceOf(key))) continue;
      seen.add(namespaceOf(key));
      yield plainSidecar(namespaceOf(key), context);
    }
  }

  return {
    graph,
    settings,
    registry,
    configs: all,
    mesh,
    statuses: unionOf("statuses", [translated.statuses, ingressStatuses]),
    gatewayWorkloads: translated.workloads,
    problems: () => [...settings.problems(), ...problems()],
    references,
    podProxy,
    likelySidecars,
    podKeys: () => pods.keys(),
    podProxies: () => pods.keys().flatMap((key) => podProxy(key) ?? []),
    classOf: (proxy, withheld) =>
      classify({ mesh, targets: registry.targets, isMember: registry.isMember }, proxy, withheld),
  };
}

/** What carries no revision is everybody's. */
function isOfRevision({ metadata }: KubeObject, revision = ""): boolean {
  const label = metadata.labels?.["istio.io/rev"];
  return revision === "" || label === undefined || label === revision;
}
