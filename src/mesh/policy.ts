/** Policies as written in; those that a workload is under, by selector or targetRefs, out. */
import type { Collection, Graph } from "../collections/index.ts";
import { type Config, compareAge, matchesLabels, type PolicyTargetReference } from "../model/index.ts";

/** What every kind of policy has in common. */
export interface PolicySpec {
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly workloadSelector?: { readonly labels?: Readonly<Record<string, string>> };
  readonly targetRef?: PolicyTargetReference;
  readonly targetRefs?: readonly PolicyTargetReference[];
}

export type Labels = Readonly<Record<string, string>>;

/** Policies of the namespaces, in that order, that attach to the workload; oldest first within a namespace. */
export type PolicyLookup<Spec> = (
  namespaces: readonly string[],
  workload: string,
  labels: Labels,
) => readonly Config<Spec>[];

export function createPolicyLookup<Spec extends PolicySpec>(
  graph: Graph,
  name: string,
  configs: Collection<Config<Spec>>,
): PolicyLookup<Spec> {
  const list = createNamespaceList(graph, name, configs);
  return (namespaces, workload, labels) =>
    [...new Set(namespaces)].flatMap((namespace) =>
      list(namespace).filter((config) => attaches(config, workload, labels)),
    );
}

/** All objects of a namespace, oldest first. */
export function createNamespaceList<Spec>(
  graph: Graph,
  name: string,
  configs: Collection<Config<Spec>>,
): (namespace: string) => readonly Config<Spec>[] {
  const byNamespace = graph.index(configs, "namespace", (config) => [config.meta.namespace]);
  const sorted = graph.memo<readonly Config<Spec>[]>(`${name} by namespace`, (namespace) =>
    byNamespace
      .get(namespace)
      .flatMap((key) => configs.get(key) ?? [])
      .sort((a, b) => compareAge(a.meta, b.meta)),
  );
  return sorted.get;
}

const gatewayName = "gateway.networking.k8s.io/gateway-name";

/**
 * A policy with targetRefs is for Gateway API gateways of its own namespace that it names; one without is for the
 * workloads that its selector matches, all where it has none.
 */
function attaches(config: Config<PolicySpec>, workloadNamespace: string, labels: Labels): boolean {
  const { targetRefs = [], targetRef } = config.spec;
  const refs = targetRefs.length > 0 || !targetRef ? targetRefs : [targetRef];
  if (refs.length === 0) return matchesLabels(selectorOf(config.spec), labels);
  const gateway = Object.hasOwn(labels, gatewayName) ? labels[gatewayName] : undefined;
  if (gateway === undefined || config.meta.namespace !== workloadNamespace) return false;
  return refs.some(
    (ref) =>
      ref.kind === "Gateway" &&
      ref.group === "gateway.networking.k8s.io" &&
      ref.name === gateway &&
      (!ref.namespace || ref.namespace === workloadNamespace),
  );
}

/** EnvoyFilter alone writes its selector as `workloadSelector.labels`. */
export function selectorOf(spec: PolicySpec): Labels {
  return spec.selector?.matchLabels ?? spec.workloadSelector?.labels ?? {};
}
