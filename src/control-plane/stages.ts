/**
 * Kubernetes objects in, the mesh out: the stages in the order in which data flows through them. Nothing else makes a
 * stage, so that offline rendering and the control plane are the same thing.
 */
import type { Collection, Graph } from "../collections/index.ts";
import { decode, decodeMeshConfig, type Problem } from "../config/index.ts";
import {
  authorizationPolicy,
  type Config,
  destinationRule,
  envoyFilter,
  gateway,
  type Kind,
  type KubeObject,
  type MeshConfigSpec,
  matchesSelector,
  mergeMeshConfig,
  peerAuthentication,
  type Proxy,
  type ProxyClass,
  proxyConfig,
  requestAuthentication,
  type SpecOf,
  sidecar,
  telemetry,
  trafficExtension,
  virtualService,
  wasmPlugin,
} from "../model/index.ts";
import { classify, createMesh, type Mesh } from "../mesh/index.ts";
import { createRegistry, type Inputs, meshConfigKey, proxyOfPod, type Registry } from "../registry/index.ts";

export interface StageOptions {
  /** Cluster domain. */
  readonly domain: string;
  /** Name of the cluster that the objects come from. */
  readonly cluster: string;
}

export interface Stages {
  readonly mesh: Mesh;
  readonly registry: Registry;
  /** The proxies that would connect from the pods, by `namespace/pod`. */
  readonly proxies: Collection<Proxy>;
  /** Recorded: inside a memo, the class follows its inputs. */
  classOf(proxy: Proxy): ProxyClass;
  /** What was left out, or is doubtful, and why. */
  problems(): readonly Problem[];
}

export const defaultStageOptions: StageOptions = { domain: "cluster.local", cluster: "Kubernetes" };

export function createStages(graph: Graph, inputs: Inputs, options: StageOptions = defaultStageOptions): Stages {
  const problems = new Map<string, readonly Problem[]>();

  // MeshConfig over Istio's defaults; one that cannot be read leaves the defaults.
  const settingsMemo = graph.memo<MeshConfigSpec>("settings", () => {
    const written = inputs.meshConfig.get(meshConfigKey);
    const decoded = decodeMeshConfig(JSON.stringify(written ?? {}));
    problems.set("MeshConfig", decoded.problems);
    return mergeMeshConfig(decoded.ok ?? {});
  });
  const settings = (): MeshConfigSpec => settingsMemo.get("");

  // Namespaces that discoverySelectors leave out are as if they did not exist.
  const namespaces = inputs.source("", "Namespace");
  const discoveredNamespace = graph.memo<boolean>("discovered", (name) => {
    const selectors = settings().discoverySelectors ?? [];
    if (selectors.length === 0) return true;
    const labels = namespaces.get(name)?.metadata.labels ?? {};
    return name === settings().rootNamespace || selectors.some((selector) => matchesSelector(selector, labels));
  });
  const discovered = (object: KubeObject): boolean => discoveredNamespace.get(object.metadata.namespace ?? "default");

  const decoded = <K extends Kind>(kind: K): Collection<Config<SpecOf<K>>> =>
    graph.derive<KubeObject, Config<SpecOf<K>>>(kind.kind, inputs.source(kind.group, kind.kind), (object, key) => {
      if (!discovered(object)) return [];
      const result = decode(kind, object);
      problems.set(`${kind.kind}/${key}`, result.problems);
      return result.ok ? [[key, result.ok]] : [];
    });

  const registry = createRegistry(graph, inputs.source, { ...options, settings, discovered });
  const mesh = createMesh(graph, {
    domain: options.domain,
    settings,
    services: registry.services,
    endpoints: registry.endpoints,
    configs: {
      virtualServices: decoded(virtualService),
      destinationRules: decoded(destinationRule),
      gateways: decoded(gateway),
      sidecars: decoded(sidecar),
      peerAuthentications: decoded(peerAuthentication),
      requestAuthentications: decoded(requestAuthentication),
      authorizationPolicies: decoded(authorizationPolicy),
      telemetries: decoded(telemetry),
      envoyFilters: decoded(envoyFilter),
      wasmPlugins: decoded(wasmPlugin),
      trafficExtensions: decoded(trafficExtension),
      proxyConfigs: decoded(proxyConfig),
    },
  });
  const proxies = graph.derive("proxies", registry.pods, (pod, key) => {
    const proxy = proxyOfPod(pod, { ...options, node: (name) => registry.nodes.get(name), proxyConfig: mesh.proxyConfig });
    return proxy ? [[key, proxy]] : [];
  });
  return {
    mesh,
    registry,
    proxies,
    classOf: (proxy) => classify({ mesh, targets: (p) => registry.podTargets(`${p.namespace}/${p.name}`) ?? [] }, proxy),
    problems: () => [...problems.values()].flat(),
  };
}
