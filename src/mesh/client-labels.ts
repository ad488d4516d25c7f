/** A workload's labels in; what the client side finds in them, which is all of them that may tell clients apart, out. */
import type { Graph } from "../collections/index.ts";
import { isRecord } from "../lib/index.ts";
import { matchesLabels } from "../model/index.ts";
import type { MeshInputs } from "./inputs.ts";
import type { ClientLabels } from "./mesh.ts";
import type { Labels } from "./policy.ts";

export function createClientLabels(graph: Graph, { configs, settings }: MeshInputs): ClientLabels {
  const rules = graph.index(configs.destinationRules, "client selector", ({ meta, spec }) =>
    selectorWord(spec.workloadSelector?.matchLabels).map((word) => `${meta.namespace}\n${word}`),
  );
  const sources = graph.index(configs.virtualServices, "source labels", ({ spec }) =>
    [...(spec.http ?? []), ...(spec.tcp ?? []), ...(spec.tls ?? [])].flatMap(({ match = [] }) =>
      match.flatMap((one) => selectorWord(one.sourceLabels)),
    ),
  );
  const priorities = graph.index(configs.destinationRules, "failover labels", ({ spec }) => failoverLabels(spec));
  const selectors = graph.memo<readonly Labels[]>("client selectors", (namespace) => {
    const own = rules.words().filter((word) => word.startsWith(`${namespace}\n`));
    const words = new Set([...own.map((word) => word.slice(namespace.length + 1)), ...sources.words()]);
    return [...words].map((word) => Object.fromEntries(JSON.parse(word) as [string, string][]));
  });
  const placeKeys = graph.memo<readonly string[]>("failover labels", () => [
    ...new Set([...placeLabels, ...priorities.words(), ...failoverLabels(settings())]),
  ]);
  return {
    selected(namespace, labels) {
      const matching = selectors.get(namespace).filter((selector) => matchesLabels(selector, labels));
      return inOrder(matching.flatMap((selector) => Object.entries(selector)));
    },
    places: (labels) =>
      inOrder(
        placeKeys.get("").flatMap((key) => {
          const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
          return value === undefined ? [] : [[key, value]];
        }),
      ),
  };
}

/** A Service's `trafficDistribution` goes by these. */
const placeLabels = [
  "topology.istio.io/network",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
  "topology.istio.io/subzone",
  "topology.istio.io/cluster",
];

function selectorWord(labels: Labels | undefined): readonly string[] {
  const entries = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length > 0 ? [JSON.stringify(entries)] : [];
}

/** `failoverPriority` may stand at any level of a policy; an entry is `label` or `label=value`. */
function failoverLabels(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(failoverLabels);
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([field, inner]) =>
    field === "failoverPriority" && Array.isArray(inner)
      ? inner.flatMap((entry) => (typeof entry === "string" ? [entry.split("=")[0] ?? ""] : []))
      : failoverLabels(inner),
  );
}

const inOrder = (entries: readonly (readonly [string, string])[]): Labels =>
  Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
