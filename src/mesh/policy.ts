/** Policies as written in; the keys of those that a workload is under, by selector or targetRefs, out. */
import { type Collection, type Graph, sameData } from "../collections/index.ts";
import { type Config, compareAge, matchesLabels, type PolicyTargetReference } from "../model/index.ts";

/** What every kind of policy has in common. */
export interface PolicySpec {
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly workloadSelector?: { readonly labels?: Readonly<Record<string, string>> };
  readonly targetRef?: PolicyTargetReference;
  readonly targetRefs?: readonly PolicyTargetReference[];
}

export type Labels = Readonly<Record<string, string>>;

/** Whom a policy is for; edits of what it says do not reach it. */
export interface PolicyHead {
  readonly key: string;
  readonly meta: Pick<Config<unknown>["meta"], "name" | "namespace" | "creationTimestamp">;
  readonly selector: Labels;
  readonly targetRefs: readonly PolicyTargetReference[];
}

/** Those of them that attach to a workload of the namespace. */
export const attached = (heads: readonly PolicyHead[], namespace: string, labels: Labels): readonly PolicyHead[] =>
  heads.length === 0 ? heads : heads.filter((head) => attaches(head, namespace, labels));

/** Heads of a namespace's objects, oldest first. Derived eagerly, so that an edit of contents ends here. */
export function createHeads<Spec extends PolicySpec>(
  graph: Graph,
  name: string,
  configs: Collection<Config<Spec>>,
): (namespace: string) => readonly PolicyHead[] {
  const heads = graph.derive<Config<Spec>, PolicyHead>(`${name} heads`, configs, (config, key) => [
    [key, headOf(key, config)],
  ]);
  const byNamespace = graph.index(heads, "namespace", ({ meta }) => [meta.namespace]);
  const sorted = graph.memo<readonly PolicyHead[]>(`${name} by namespace`, (namespace) =>
    byNamespace
      .get(namespace)
      .flatMap((key) => heads.get(key) ?? [])
      .sort((a, b) => compareAge(a.meta, b.meta)),
  );
  return sorted.get;
}

function headOf(key: string, { meta, spec }: Config<PolicySpec>): PolicyHead {
  const { name, namespace, creationTimestamp } = meta;
  const { targetRefs = [], targetRef } = spec;
  return {
    key,
    meta: { name, namespace, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
    selector: selectorOf(spec),
    targetRefs: targetRefs.length > 0 || !targetRef ? targetRefs : [targetRef],
  };
}

/** All objects of a namespace, oldest first. */
export function createNamespaceList<Spec>(
  graph: Graph,
  name: string,
  configs: Collection<Config<Spec>>,
): (namespace: string) => readonly Config<Spec>[] {
  const byNamespace = graph.index(configs, "namespace", (config) => [config.meta.namespace]);
  const sorted = graph.memo<readonly Config<Spec>[]>(
    `${name} by namespace`,
    (namespace) =>
      byNamespace
        .get(namespace)
        .flatMap((key) => configs.get(key) ?? [])
        .sort((a, b) => compareAge(a.meta, b.meta)),
    { equals: sameData },
  );
  return sorted.get;
}

const gatewayName = "gateway.networking.k8s.io/gateway-name";

/**
 * A policy with targetRefs is for Gateway API gateways of its own namespace that it names; one without is for the
 * workloads that its selector matches, all where it has none.
 */
function attaches({ targetRefs, selector, meta }: PolicyHead, workloadNamespace: string, labels: Labels): boolean {
  if (targetRefs.length === 0) return matchesLabels(selector, labels);
  const gateway = Object.hasOwn(labels, gatewayName) ? labels[gatewayName] : undefined;
  if (gateway === undefined || meta.namespace !== workloadNamespace) return false;
  return targetRefs.some(
    (ref) =>
      ref.kind === "Gateway" &&
      ref.group === "gateway.networking.k8s.io" &&
      ref.name === gateway &&
      (!ref.namespace || ref.namespace === workloadNamespace),
  );
}

/** Without selector and targets: for all workloads of the namespace, or of the mesh. */
export const isWide = ({ selector, targetRefs }: PolicyHead): boolean =>
  Object.keys(selector).length === 0 && targetRefs.length === 0;

/** EnvoyFilter alone writes its selector as `workloadSelector.labels`. */
export function selectorOf(spec: PolicySpec): Labels {
  return spec.selector?.matchLabels ?? spec.workloadSelector?.labels ?? {};
}
