/**
 * Services, EndpointSlices, Pods, Nodes, ServiceEntries and WorkloadEntries in; the mesh's services, their endpoints,
 * and the services that a workload belongs to out.
 */
import { type Collection, type Graph, unionOf } from "../collections/index.ts";
import {
  type Config,
  type Endpoint,
  hostKey,
  type KubeObject,
  type Locality,
  labelPairs,
  type MeshConfigSpec,
  matchesLabels,
  type Service,
  type ServiceEntrySpec,
  type ServiceTarget,
  serviceKey,
  variantKey,
  type WorkloadEntrySpec,
} from "../model/index.ts";
import { sliceEndpoints, sliceServiceName } from "./endpoint-slice.ts";
import { createExternal } from "./external.ts";
import { kubeHost, kubeService } from "./kube-service.ts";
import type { ObjectsOf } from "./objects.ts";
import { type Pod, readPod } from "./pod.ts";
import { byPrecedence } from "./precedence.ts";
import { serviceTarget, targetPorts, targetsOfPod, targetsOfSlices } from "./targets.ts";
import type { ServiceVariant, Slice } from "./variant.ts";
import { nodeLocality, type WorkloadFacts, workloadFacts } from "./workload.ts";
import { createWorkloadAt } from "./workload-at.ts";
import { kubeServiceEndpoints, type WorkloadInstance } from "./workload-instance.ts";

export interface RegistryOptions {
  readonly domain: string;
  readonly cluster: string;
  settings(): MeshConfigSpec;
  /** False for objects in namespaces that discoverySelectors leave out. */
  discovered(object: KubeObject): boolean;
  readonly serviceEntries: Collection<Config<ServiceEntrySpec>>;
  readonly workloadEntries: Collection<Config<WorkloadEntrySpec>>;
}

/** What is asked of a proxy to find the services it belongs to. */
interface WorkloadAddress {
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
}

export interface Registry {
  /** By `Service.key`. `exportTo` has the mesh's default filled in. */
  readonly services: Collection<Service>;
  readonly pods: Collection<Pod>;
  readonly nodes: Collection<Locality>;
  /** All endpoints of a service, over all ports; services of one host in one namespace share theirs. */
  endpoints(serviceKey: string): readonly Endpoint[];
  /** Ports of services that the workload serves. */
  targets(workload: WorkloadAddress): readonly ServiceTarget[];
  /** Whether a headless Service has an endpoint at the address, whether or not the workload there serves it. */
  isMember(address: string): boolean;
  /** What is at an address, where only one workload is. */
  workloadAt(address: string): WorkloadFacts | undefined;
}

export function createRegistry(graph: Graph, objects: ObjectsOf, options: RegistryOptions): Registry {
  const { domain, cluster, settings, discovered } = options;
  const nodes = graph.derive("nodes", objects("", "Node"), (object, key) => [[key, nodeLocality(object)]]);
  const namespaces = objects("", "Namespace");
  const namespaceAnnotations = (name: string): Readonly<Record<string, string>> =>
    namespaces.get(name)?.metadata.annotations ?? {};
  const pods = graph.derive("pods", objects("", "Pod"), (object, key) =>
    discovered(object) ? [[key, readPod(object)]] : [],
  );
  const podsByAddress = graph.index(pods, "address", (pod) => pod.addresses);
  const facts = graph.memo<WorkloadFacts>("workload facts", (podKey) =>
    workloadFacts(podKey === "" ? undefined : pods.get(podKey), {
      cluster,
      trustDomain: settings().trustDomain ?? "",
      network: "",
      node: (name) => nodes.get(name),
    }),
  );

  const kubeVariants = graph.derive<KubeObject, ServiceVariant>(
    "kube services",
    objects("", "Service"),
    (object, key) => {
      if (!discovered(object)) return [];
      const context = {
        domain,
        trustDomain: settings().trustDomain ?? "",
        namespaceAnnotations: namespaceAnnotations(object.metadata.namespace ?? "default"),
      };
      return [[`Service/${key}`, { service: kubeService(object, context), targets: targetPorts(object) }]];
    },
  );
  const external = createExternal(graph, {
    ...options,
    pods,
    facts: facts.get,
    namespace: (name) => namespaces.get(name)?.metadata,
    keyOf: ({ key, object }) => (services.get(key)?.object === object ? key : variantKey(key, object)),
    statusOf: (kind, key) => objects("networking.istio.io", kind).get(key)?.status,
  });
  const variants = unionOf("service variants", [kubeVariants, external.variants]);
  const variantsByKey = graph.index(variants, "key", (variant) => [variant.service.key]);
  const services = graph.derive("services", variantsByKey.groups, (ids) => {
    const found = [...ids].flatMap((id) => variants.get(id)?.service ?? []);
    return byPrecedence(found).map((service, i) => {
      const key = i === 0 ? service.key : variantKey(service.key, service.object);
      return [key, { ...service, key, exportTo: service.exportTo ?? settings().defaultServiceExportTo ?? ["*"] }];
    });
  });

  const slices = graph.derive<KubeObject, Slice>(
    "endpoint slices",
    objects("discovery.k8s.io", "EndpointSlice"),
    (object, key) => {
      const name = sliceServiceName(object);
      const namespace = object.metadata.namespace ?? "default";
      if (name === undefined || !discovered(object)) return [];
      const owner = serviceKey(namespace, kubeHost(name, namespace, domain));
      const endpoints = sliceEndpoints(object, {
        service: services.get(owner),
        pod: (podKey) => pods.get(podKey),
        podsAt: podsByAddress.get,
        facts: (pod) => facts.get(pod ? `${pod.namespace}/${pod.name}` : ""),
      });
      return [[key, { service: owner, endpoints }]];
    },
  );
  const slicesByService = graph.index(slices, "service", (slice) => [slice.service]);
  const slicesByAddress = graph.index(slices, "address", (slice) =>
    slice.endpoints.flatMap((endpoint) => endpoint.addresses),
  );

  const kubeEndpoints = (key: string): readonly Endpoint[] => {
    const variant = variantsByKey.get(key).flatMap((id) => kubeVariants.get(id) ?? [])[0];
    if (!variant) return [];
    const { service, targets } = variant;
    const isSelecting = service.selector && service.resolution === "static";
    const entries = isSelecting ? external.entriesMatching(service.namespace, service.selector ?? {}) : [];
    return [
      ...uniqueEndpoints(slicesByService.get(key).flatMap((id) => slices.get(id)?.endpoints ?? [])),
      ...entries.flatMap((entry) => kubeServiceEndpoints(entry, service, targets)),
    ];
  };
  const endpointsOfHost = graph.memo<readonly Endpoint[]>("endpoints", (key) => [
    ...kubeEndpoints(key),
    ...external.endpoints(variantsByKey.get(key).filter((id) => external.variants.get(id) !== undefined)),
  ]);

  const selecting = createSelectorIndex(graph, kubeVariants);
  const kubeTargets = ({ namespace, name, addresses }: WorkloadAddress): readonly ServiceTarget[] => {
    const entry = external.entryAt(namespace, addresses[0]);
    if (entry) return entryTargets(entry, selecting(namespace, entry.facts.labels));
    const pod = pods.get(`${namespace}/${name}`);
    if (!pod) return [];
    const found = selecting(namespace, pod.labels);
    if (found.length > 0) return targetsOfPod(pod, found);
    const address = pod.addresses[0];
    if (address === undefined) return [];
    return targetsOfSlices(
      slicesByAddress.get(address).flatMap((id) => slices.get(id) ?? []),
      address,
      (key) => {
        const service = services.get(key);
        return service?.namespace === namespace ? service : undefined;
      },
    );
  };
  const targets = graph.memo<readonly ServiceTarget[]>("targets", (id) => {
    const [namespace = "", name = "", all = ""] = id.split("|");
    const addresses = all === "" ? [] : all.split(",");
    return [...kubeTargets({ namespace, name, addresses }), ...external.targets(namespace, addresses)];
  });

  return {
    services,
    pods,
    nodes,
    endpoints: (key) => endpointsOfHost.get(hostKey(key)),
    isMember: (address) =>
      slicesByAddress.get(address).some((id) => services.get(slices.get(id)?.service ?? "")?.headless),
    targets: ({ namespace, name, addresses }) => targets.get(`${namespace}|${name}|${addresses.join(",")}`),
    workloadAt: createWorkloadAt({
      pods,
      podsAt: podsByAddress.get,
      facts: facts.get,
      entriesAt: external.entriesAt,
    }),
  };
}

/** Service variants whose selector matches labels; found by one pair of the selector, so that others are not read. */
function createSelectorIndex(
  graph: Graph,
  variants: Collection<ServiceVariant>,
): (namespace: string, labels: Readonly<Record<string, string>>) => readonly ServiceVariant[] {
  const index = graph.index(variants, "selector", ({ service }) => {
    const [first] = labelPairs(service.selector ?? {});
    return first === undefined ? [] : [`${service.namespace}|${first}`];
  });
  return (namespace, labels) =>
    labelPairs(labels)
      .flatMap((pair) => index.get(`${namespace}|${pair}`))
      .sort()
      .flatMap((id) => variants.get(id) ?? [])
      .filter(({ service }) => matchesLabels(service.selector ?? {}, labels));
}

function entryTargets(entry: WorkloadInstance, variants: readonly ServiceVariant[]): readonly ServiceTarget[] {
  return variants
    .filter(({ service }) => service.resolution === "static")
    .flatMap(({ service, targets }) =>
      kubeServiceEndpoints(entry, service, targets).flatMap((endpoint) => {
        const port = service.ports.find((candidate) => candidate.name === endpoint.portName);
        return port && port.protocol !== "UDP" ? [serviceTarget(service.key, port, endpoint.port)] : [];
      }),
    );
}

/** An endpoint that moves from one slice to another is in both for a while. */
function uniqueEndpoints(all: readonly Endpoint[]): readonly Endpoint[] {
  const seen = new Set<string>();
  return all.filter((endpoint) => {
    const id = `${endpoint.addresses[0] ?? ""}|${endpoint.portName}`;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}
