/** ServiceEntries, WorkloadEntries and the pods they select in; services outside Kubernetes and their endpoints out. */
import type { Collection, Graph } from "../collections/index.ts";
import { readList, readRecord, sortBy } from "../lib/index.ts";
import {
  type Config,
  type Endpoint,
  type MeshConfigSpec,
  matchesLabels,
  type ObjectMeta,
  type Service,
  type ServiceEntrySpec,
  type ServiceTarget,
  type WorkloadEntrySpec,
} from "../model/index.ts";
import { capExports } from "./entry-visibility.ts";
import type { Pod } from "./pod.ts";
import { serviceEntryServices } from "./service-entry.ts";
import { serviceTarget } from "./targets.ts";
import type { ServiceVariant } from "./variant.ts";
import type { WorkloadFacts } from "./workload.ts";
import { entryInstance, podInstance, serviceEntryEndpoints, type WorkloadInstance } from "./workload-instance.ts";

export interface ExternalInputs {
  readonly cluster: string;
  settings(): MeshConfigSpec;
  readonly serviceEntries: Collection<Config<ServiceEntrySpec>>;
  readonly workloadEntries: Collection<Config<WorkloadEntrySpec>>;
  readonly pods: Collection<Pod>;
  facts(podKey: string): WorkloadFacts;
  /** Of a variant, in the collection of services. */
  keyOf(service: Service): string;
  namespace(name: string): ObjectMeta | undefined;
  statusOf(kind: string, key: string): unknown;
}

interface ExternalVariant extends ServiceVariant {
  readonly serviceEntry: string;
}

export interface External {
  readonly variants: Collection<ExternalVariant>;
  /** Endpoints of variants that share a namespace and host. */
  endpoints(ids: readonly string[]): readonly Endpoint[];
  targets(namespace: string, addresses: readonly string[]): readonly ServiceTarget[];
  /** WorkloadEntries with an IP that match a Kubernetes Service's selector. */
  entriesMatching(namespace: string, selector: Readonly<Record<string, string>>): readonly WorkloadInstance[];
  /** The WorkloadEntry that stands for the proxy at the address. */
  entryAt(namespace: string, address: string | undefined): WorkloadInstance | undefined;
  /** WorkloadEntries of any namespace with this address. */
  entriesAt(address: string): readonly WorkloadInstance[];
}

export function createExternal(graph: Graph, inputs: ExternalInputs): External {
  const { serviceEntries, workloadEntries, pods, settings, cluster } = inputs;
  const context = (): { cluster: string; trustDomain: string } => ({
    cluster,
    trustDomain: settings().trustDomain ?? "",
  });
  const exportsOf = ({ spec, meta }: Config<ServiceEntrySpec>): readonly string[] => {
    const declared = spec.exportTo?.length ? spec.exportTo : (settings().defaultServiceExportTo ?? ["*"]);
    return capExports(declared, meta.namespace, inputs.namespace(meta.namespace)?.labels ?? {}, settings());
  };
  const variants = graph.derive<Config<ServiceEntrySpec>, ExternalVariant>(
    "external services",
    serviceEntries,
    (config, key) => {
      const services = serviceEntryServices(config, {
        status: inputs.statusOf("ServiceEntry", key),
        namespaceAnnotations: inputs.namespace(config.meta.namespace)?.annotations ?? {},
      });
      const exportTo = exportsOf(config);
      return services.map((service) => [
        `ServiceEntry/${key}/${service.host}`,
        { service: { ...service, ...declaredExports(config), exportTo }, targets: [], serviceEntry: key },
      ]);
    },
  );
  const byNamespace = graph.index(variants, "namespace", ({ service }) => [service.namespace]);

  const entries = graph.derive<Config<WorkloadEntrySpec>, WorkloadInstance>(
    "workload entries",
    workloadEntries,
    (config, key) =>
      isHealthy(config, inputs.statusOf("WorkloadEntry", key))
        ? [[key, entryInstance(config.spec, config.meta, context())]]
        : [],
  );
  const entriesByNamespace = graph.index(entries, "namespace", (entry) => [entry.namespace]);
  const entriesByAddress = graph.index(entries, "address", (entry) => entry.addresses);
  const entriesAt = (address: string): readonly WorkloadInstance[] =>
    entriesByAddress.get(address).flatMap((key) => entries.get(key) ?? []);
  const podsByNamespace = graph.index(pods, "namespace", (pod) => (pod.usable ? [pod.namespace] : []));

  const entriesIn = (namespace: string): readonly WorkloadInstance[] =>
    entriesByNamespace.get(namespace).flatMap((key) => entries.get(key) ?? []);
  const podsIn = (namespace: string): readonly WorkloadInstance[] =>
    podsByNamespace.get(namespace).flatMap((key) => {
      const pod = pods.get(key);
      return pod ? [podInstance(pod, inputs.facts(key))] : [];
    });
  const matching = (
    all: readonly WorkloadInstance[],
    selector: Readonly<Record<string, string>>,
  ): readonly WorkloadInstance[] => all.filter((instance) => matchesLabels(selector, instance.facts.labels));

  const endpointsOf = graph.memo<readonly Endpoint[]>("external endpoints", (id) => {
    const variant = variants.get(id);
    const config = variant && serviceEntries.get(variant.serviceEntry);
    if (!variant || !config) return [];
    const { service } = variant;
    const isDns = service.resolution === "dns" || service.resolution === "dns-round-robin";
    if (service.selector) {
      const selected = matching([...podsIn(service.namespace), ...entriesIn(service.namespace)], service.selector);
      return selected
        .filter((instance) => isDns || !instance.dnsOnly)
        .flatMap((instance) => serviceEntryEndpoints(instance, service.ports));
    }
    const inline = config.spec.endpoints ?? [];
    if (inline.length === 0)
      return isDns ? [...serviceEntryEndpoints(hostInstance(config, service.host, cluster), service.ports)] : [];
    return inline.flatMap((spec, i) => {
      const meta = { namespace: config.meta.namespace, name: `${config.meta.name}-${i}` };
      return serviceEntryEndpoints(entryInstance(spec, meta, context()), service.ports);
    });
  });

  return {
    variants,
    endpoints(ids) {
      const sorted = sortBy(
        ids.flatMap((id) => {
          const variant = variants.get(id);
          return variant ? [{ id, ...variant }] : [];
        }),
        ({ service }) => service.creationTimestamp,
        ({ service }) => service.object,
      );
      const taken = new Set<number>();
      return sorted.flatMap(({ id, service }) => {
        // Istio makes a service of each address, every one of them with all endpoints.
        const each = Array.from({ length: Math.max(1, new Set(service.addresses).size) }, () => endpointsOf.get(id));
        return each.flat().filter((endpoint) => {
          // Envoy takes one endpoint per logical DNS cluster; there are none for UDP.
          const { servicePort: port, isUdp } = endpoint;
          if (isUdp || port === undefined) return true;
          if (service.resolution === "dns-round-robin" && taken.has(port)) return false;
          taken.add(port);
          return true;
        });
      });
    },
    targets: (namespace, addresses) =>
      byNamespace.get(namespace).flatMap((id) => {
        const service = variants.get(id)?.service;
        const own = endpointsOf.get(id).filter((endpoint) => addresses.includes(endpoint.addresses[0] ?? ""));
        return own.flatMap((endpoint) => {
          const port = service?.ports.find((candidate) => candidate.name === endpoint.portName);
          return service && port ? [serviceTarget(inputs.keyOf(service), port, endpoint.port)] : [];
        });
      }),
    entriesMatching: (namespace, selector) =>
      matching(entriesIn(namespace), selector).filter((entry) => !entry.dnsOnly),
    entryAt(namespace, address) {
      if (address === undefined) return undefined;
      return entriesAt(address).find((entry) => entry.namespace === namespace && !entry.dnsOnly);
    },
    entriesAt,
  };
}

function declaredExports({ spec }: Config<ServiceEntrySpec>): Pick<Service, "declaredExportTo"> {
  return spec.exportTo?.length ? { declaredExportTo: spec.exportTo } : {};
}

/** Without endpoints, DNS is asked for the service's own name. */
function hostInstance(config: Config<ServiceEntrySpec>, host: string, cluster: string): WorkloadInstance {
  const { namespace, name } = config.meta;
  const instance = entryInstance({ address: host }, { namespace, name }, { cluster, trustDomain: "" });
  return { ...instance, facts: { ...instance.facts, labels: {} } };
}

/** An entry whose agent probes it is used once the probe has passed. */
function isHealthy(config: Config<WorkloadEntrySpec>, status: unknown): boolean {
  const watched = config.meta.annotations?.["proxy.istio.io/health-checks-enabled"];
  if (!watched || !/^(1|t|true)$/i.test(watched)) return true;
  return readList(readRecord(status).conditions)
    .map(readRecord)
    .some((condition) => condition.type === "Healthy" && condition.status === "True");
}
