/** Objects that choose workloads in; the keys of those that choose a given one out. */
import type { Collection, Graph } from "../collections/index.ts";
import { type Config, compareAge, matchesLabels } from "../model/index.ts";
import type { MeshInputs } from "./inputs.ts";
import type { Selection } from "./mesh.ts";
import { createPolicyLookup, type Labels, type PolicyHead } from "./policy.ts";
import { applicableTelemetries } from "./telemetry.ts";

export function createSelection(graph: Graph, { configs, settings }: MeshInputs): Selection {
  const root = (): string => settings().rootNamespace ?? "";
  const peers = createPolicyLookup(graph, "PeerAuthentications", configs.peerAuthentications);
  const requests = createPolicyLookup(graph, "RequestAuthentications", configs.requestAuthentications);
  const authorizations = createPolicyLookup(graph, "AuthorizationPolicies", configs.authorizationPolicies);
  const telemetries = createPolicyLookup(graph, "Telemetries", configs.telemetries);
  const filters = createPolicyLookup(graph, "EnvoyFilters", configs.envoyFilters);
  const plugins = createPolicyLookup(graph, "WasmPlugins", configs.wasmPlugins);
  const extensions = createPolicyLookup(graph, "TrafficExtensions", configs.trafficExtensions);
  const sidecars = createChoosers(graph, "Sidecars", configs.sidecars, (spec) => spec.workloadSelector?.labels ?? {});
  const gateways = createChoosers(graph, "Gateways", configs.gateways, (spec) => spec.selector ?? {});

  /** Those with a selector first, whatever their age; without any, the root namespace's own default. */
  const sidecar = (namespace: string, labels: Labels): string => {
    const own = sidecars.of(namespace);
    const found =
      own.find(({ selects, selector }) => selects && matchesLabels(selector, labels)) ??
      own.find(({ selects }) => !selects) ??
      sidecars.of(root()).find(({ selects }) => !selects);
    return found?.key ?? "";
  };
  return {
    sidecar,
    peerAuthentications: (namespace, labels) => keysOf(peers([namespace, root()], namespace, labels)),
    requestAuthentications: (namespace, labels) => keysOf(requests([namespace, root()], namespace, labels)),
    authorizationPolicies: (namespace, labels) => keysOf(authorizations([root(), namespace], namespace, labels)),
    telemetries: (namespace, labels) => keysOf(applicableTelemetries(telemetries, root(), namespace, labels)),
    envoyFilters: (namespace, labels) => keysOf(filters([root(), namespace], namespace, labels)),
    extensions(namespace, labels) {
      const found = [
        ...plugins([namespace, root()], namespace, labels).map((head) => ({ kind: "WasmPlugin", head })),
        ...extensions([namespace, root()], namespace, labels).map((head) => ({ kind: "TrafficExtension", head })),
      ];
      const own = ({ meta }: PolicyHead): number => (meta.namespace === namespace ? 0 : 1);
      return found
        .sort((a, b) => own(a.head) - own(b.head) || compareAge(a.head.meta, b.head.meta))
        .map(({ kind, head }) => `${kind}/${head.key}`);
    },
    // Gateways select proxies of any namespace, so all of them are looked at.
    gateways: (labels) =>
      gateways
        .all()
        .filter(({ selector }) => matchesLabels(selector, labels))
        .map(({ key }) => key),
  };
}

const keysOf = (heads: readonly PolicyHead[]): readonly string[] => heads.map(({ key }) => key);

interface Chooser {
  readonly key: string;
  readonly meta: PolicyHead["meta"];
  /** Whether it has a selector at all. */
  readonly selects: boolean;
  readonly selector: Labels;
}

function createChoosers<Spec extends object>(
  graph: Graph,
  name: string,
  configs: Collection<Config<Spec>>,
  selectorOf: (spec: Spec) => Labels,
): { of(namespace: string): readonly Chooser[]; all(): readonly Chooser[] } {
  const heads = graph.derive<Config<Spec>, Chooser>(`${name} heads`, configs, ({ meta, spec }, key) => {
    const { name: own, namespace, creationTimestamp } = meta;
    const age = { name: own, namespace, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) };
    const selects = "workloadSelector" in spec && spec.workloadSelector !== undefined;
    return [[key, { key, meta: age, selects, selector: selectorOf(spec) }]];
  });
  const byNamespace = graph.index(heads, "namespace", ({ meta }) => [meta.namespace]);
  const sorted = (keys: readonly string[]): readonly Chooser[] =>
    keys.flatMap((key) => heads.get(key) ?? []).sort((a, b) => compareAge(a.meta, b.meta));
  const ofNamespace = graph.memo<readonly Chooser[]>(`${name} by namespace`, (namespace) =>
    sorted(byNamespace.get(namespace)),
  );
  const all = graph.memo<readonly Chooser[]>(`${name} by age`, () => sorted(heads.keys()));
  return { of: ofNamespace.get, all: () => all.get("") };
}
