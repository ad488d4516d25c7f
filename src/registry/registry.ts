/**
 * Services, EndpointSlices, Pods, Nodes and Namespaces in; the mesh's services, their endpoints, and the services that
 * a workload belongs to out.
 */
import { type Collection, type Graph, type Index, unionOf } from "../collections/index.ts";
import {
  type Endpoint,
  type KubeObject,
  labelPairs,
  type Locality,
  type MeshConfigSpec,
  matchesLabels,
  type Service,
  type ServiceTarget,
  serviceKey,
} from "../model/index.ts";
import { sliceEndpoints, sliceServiceName } from "./endpoint-slice.ts";
import type { ObjectsOf } from "./inputs.ts";
import { kubeHost, kubeService } from "./kube-service.ts";
import { mergeServices } from "./merge.ts";
import { type Pod, readPod } from "./pod.ts";
import { type TargetPort, targetPorts, targetsOfPod } from "./targets.ts";
import { nodeLocality, type WorkloadFacts, workloadFacts } from "./workload.ts";

export interface RegistryOptions {
  readonly domain: string;
  readonly cluster: string;
  settings(): MeshConfigSpec;
  /** False for namespaces that discoverySelectors leave out. */
  discovered(object: KubeObject): boolean;
}

export interface Registry {
  /** By `namespace/host`. `exportTo` has the mesh's default filled in. */
  readonly services: Collection<Service>;
  readonly pods: Collection<Pod>;
  readonly nodes: Collection<Locality>;
  /** All endpoints of a service, over all ports. */
  endpoints(serviceKey: string): readonly Endpoint[];
  /** Ports of services that the pod serves; undefined where it is not known. */
  podTargets(podKey: string): readonly ServiceTarget[] | undefined;
}

/** One source of a service: a Service object, or one host of a ServiceEntry. */
export interface ServiceVariant {
  readonly service: Service;
  readonly targets: readonly TargetPort[];
}

interface Slice {
  readonly service: string;
  readonly endpoints: readonly Endpoint[];
}

export function createRegistry(graph: Graph, objects: ObjectsOf, options: RegistryOptions): Registry {
  const { domain, cluster, settings, discovered } = options;
  const nodes = graph.derive("nodes", objects("", "Node"), (object, key) => [[key, nodeLocality(object)]]);
  const namespaces = objects("", "Namespace");
  const pods = graph.derive("pods", objects("", "Pod"), (object, key) => (discovered(object) ? [[key, readPod(object)]] : []));
  const podsByAddress = graph.index(pods, "address", (pod) => pod.addresses);

  const kubeVariants = graph.derive<KubeObject, ServiceVariant>("kube services", objects("", "Service"), (object, key) => {
    if (!discovered(object)) return [];
    const namespace = namespaces.get(object.metadata.namespace ?? "default");
    const context = {
      domain,
      trustDomain: settings().trustDomain ?? "",
      namespaceAnnotations: namespace?.metadata.annotations ?? {},
    };
    return [[`Service/${key}`, { service: kubeService(object, context), targets: targetPorts(object) }]];
  });
  const variants = unionOf("service variants", [kubeVariants]);
  const variantsByKey = graph.index(variants, "key", (variant) => [variant.service.key]);
  const services = graph.derive("services", variantsByKey.groups, (keys, key) => {
    const found = [...keys].flatMap((id) => variants.get(id)?.service ?? []);
    const merged = mergeServices(found);
    return merged ? [[key, { ...merged, exportTo: merged.exportTo ?? settings().defaultServiceExportTo ?? ["*"] }]] : [];
  });

  const facts = graph.memo<WorkloadFacts>("workload facts", (podKey) =>
    workloadFacts(podKey === "" ? undefined : pods.get(podKey), {
      cluster,
      trustDomain: settings().trustDomain ?? "",
      network: "",
      node: (name) => nodes.get(name),
    }),
  );
  const slices = graph.derive<KubeObject, Slice>("endpoint slices", objects("discovery.k8s.io", "EndpointSlice"), (object, key) => {
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
  });
  const slicesByService = graph.index(slices, "service", (slice) => [slice.service]);

  const endpoints = graph.memo<readonly Endpoint[]>("endpoints", (key) =>
    uniqueEndpoints(slicesByService.get(key).flatMap((id) => slices.get(id)?.endpoints ?? [])),
  );
  const selectors = selectorIndex(graph, kubeVariants);
  const podTargets = graph.memo<readonly ServiceTarget[] | undefined>("pod targets", (podKey) => {
    const pod = pods.get(podKey);
    if (!pod) return undefined;
    const selecting = selectors(pod.namespace, pod.labels).flatMap((id) => kubeVariants.get(id) ?? []);
    if (selecting.length > 0) return targetsOfPod(pod, selecting);
    return targetsByAddress(pod, podKey);
  });
  /** Services without a selector whose endpoints name the pod's address. */
  const slicesByAddress = graph.index(slices, "address", (slice) => slice.endpoints.flatMap((e) => e.addresses));
  const targetsByAddress = (pod: Pod, _key: string): readonly ServiceTarget[] => {
    const address = pod.addresses[0];
    if (address === undefined) return [];
    return slicesByAddress
      .get(address)
      .flatMap((id) => slices.get(id) ?? [])
      .flatMap((slice) => {
        const service = services.get(slice.service);
        if (service?.namespace !== pod.namespace) return [];
        return slice.endpoints
          .filter((endpoint) => endpoint.addresses[0] === address)
          .flatMap((endpoint) => {
            const port = service.ports.find((candidate) => candidate.name === endpoint.portName);
            return port ? [{ service: service.key, port: port.port, targetPort: endpoint.port }] : [];
          });
      });
  };

  return { services, pods, nodes, endpoints: endpoints.get, podTargets: podTargets.get };
}

/** Variants whose selector matches labels; found by one pair of the selector, so that others are not read. */
function selectorIndex(
  graph: Graph,
  variants: Collection<ServiceVariant>,
): (namespace: string, labels: Readonly<Record<string, string>>) => readonly string[] {
  const index: Index = graph.index(variants, "selector", ({ service }) => {
    const [first] = labelPairs(service.selector ?? {});
    return first === undefined ? [] : [`${service.namespace}|${first}`];
  });
  return (namespace, labels) =>
    labelPairs(labels)
      .flatMap((pair) => index.get(`${namespace}|${pair}`))
      .filter((id) => matchesLabels(variants.get(id)?.service.selector ?? {}, labels))
      .sort();
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
