/** Objects that choose workloads in; the keys of those that choose a given one out. */
import type { Collection, Graph } from "../collections/index.ts";
import { type Config, compareAge, matchesLabels } from "../model/index.ts";
import type { MeshInputs } from "./inputs.ts";
import type { Selection } from "./mesh.ts";
import { attached, createHeads, type Labels, type PolicyHead } from "./policy.ts";
import { candidateTelemetries } from "./telemetry.ts";

export function createSelection(graph: Graph, { configs, settings }: MeshInputs): Selection {
  const peers = createHeads(graph, "PeerAuthentications", configs.peerAuthentications);
  const requests = createHeads(graph, "RequestAuthentications", configs.requestAuthentications);
  const authorizations = createHeads(graph, "AuthorizationPolicies", configs.authorizationPolicies);
  const telemetries = createHeads(graph, "Telemetries", configs.telemetries);
  const filters = createHeads(graph, "EnvoyFilters", configs.envoyFilters);
  const plugins = createHeads(graph, "WasmPlugins", configs.wasmPlugins);
  const extensions = createHeads(graph, "TrafficExtensions", configs.trafficExtensions);
  const sidecars = createChoosers(graph, "Sidecars", configs.sidecars, (spec) => spec.workloadSelector?.labels ?? {});
  const gateways = createChoosers(graph, "Gateways", configs.gateways, (spec) => spec.selector ?? {});

  const rootNamespace = (): string => settings().rootNamespace ?? "";
  const from = (list: Heads, ...namespaces: readonly string[]): readonly PolicyHead[] =>
    [...new Set(namespaces)].flatMap(list);
  /** Apart from the others: clients read it for their servers, and all that they have of these would be made again with any policy. */
  const peerCandidates = graph.memo<readonly PolicyHead[]>("PeerAuthentications that may apply", (namespace) =>
    from(peers, namespace, rootNamespace()),
  );
  /** What else may choose workloads of a namespace: one look-up for each proxy, instead of two for each kind. */
  const candidates = graph.memo<Candidates>("what may choose workloads", (namespace) => {
    const root = rootNamespace();
    return {
      sidecars: sidecars.of(namespace),
      rootSidecars: sidecars.of(root),
      requests: from(requests, namespace, root),
      authorizations: from(authorizations, root, namespace),
      telemetries: candidateTelemetries(telemetries, namespace, root),
      filters: from(filters, root, namespace),
      plugins: from(plugins, namespace, root),
      extensions: from(extensions, namespace, root),
    };
  });

  /** Those with a selector first, whatever their age; without any, the root namespace's own default. */
  const sidecar = (namespace: string, labels: Labels): string => {
    const { sidecars: own, rootSidecars } = candidates.get(namespace);
    const found =
      own.find(({ selects, selector }) => selects && matchesLabels(selector, labels)) ??
      own.find(({ selects }) => !selects) ??
      rootSidecars.find(({ selects }) => !selects);
    return found?.key ?? "";
  };
  const attachedKeys =
    (kind: "requests" | "authorizations" | "telemetries" | "filters") =>
    (namespace: string, labels: Labels): readonly string[] =>
      keysOf(attached(candidates.get(namespace)[kind], namespace, labels));
  return {
    sidecar,
    peerAuthentications: (namespace, labels) => keysOf(attached(peerCandidates.get(namespace), namespace, labels)),
    requestAuthentications: attachedKeys("requests"),
    authorizationPolicies: attachedKeys("authorizations"),
    telemetries: attachedKeys("telemetries"),
    envoyFilters: attachedKeys("filters"),
    extensions(namespace, labels) {
      const all = candidates.get(namespace);
      const found = [
        ...attached(all.plugins, namespace, labels).map((head) => ({ kind: "WasmPlugin", head })),
        ...attached(all.extensions, namespace, labels).map((head) => ({ kind: "TrafficExtension", head })),
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

type Heads = (namespace: string) => readonly PolicyHead[];

interface Candidates {
  readonly sidecars: readonly Chooser[];
  readonly rootSidecars: readonly Chooser[];
  /** Each of the namespace and of the root namespace, in the order in which they count. */
  readonly requests: readonly PolicyHead[];
  readonly authorizations: readonly PolicyHead[];
  readonly telemetries: readonly PolicyHead[];
  readonly filters: readonly PolicyHead[];
  readonly plugins: readonly PolicyHead[];
  readonly extensions: readonly PolicyHead[];
}

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
