/** VirtualServices as written in; with full host names and delegates merged, and by who sees them, out. */
import type { Collection, Graph } from "../collections/index.ts";
import { type Config, compareAge, type VirtualServiceSpec } from "../model/index.ts";
import { mergeDelegate } from "./delegate.ts";
import type { MeshInputs } from "./inputs.ts";
import type { RouteTarget, VirtualServiceHead } from "./mesh.ts";
import { resolveVirtualService } from "./resolve.ts";
import { everyone, exportsOf, exportWords } from "./visibility.ts";

type VirtualService = Config<VirtualServiceSpec>;

export interface VirtualServices {
  get(key: string): VirtualService | undefined;
  head(key: string): VirtualServiceHead | undefined;
  targets(key: string): readonly RouteTarget[];
  /** In precedence order for a proxy of the namespace. `gateway` is `mesh` or `namespace/name`. */
  bound(namespace: string, gateway: string): readonly string[];
  /** The three lists that `bound` is made of: the namespace's own, those exported to it, public ones; oldest first. */
  boundGroups(namespace: string, gateway: string): readonly (readonly string[])[];
  /** True where sidecars of the namespace see what everybody sees: none is private to it, and none treats it apart. */
  seesPublicOnly(namespace: string): boolean;
}

/** How translated objects say whose rules they follow. */
const routeSemantics = "internal.istio.io/route-semantics";

interface Resolved {
  readonly config: VirtualService;
  readonly words: readonly string[];
}

export function createVirtualServices(graph: Graph, inputs: MeshInputs): VirtualServices {
  const written = inputs.configs.virtualServices;
  const resolved = graph.derive<VirtualService, Resolved>("resolved VirtualServices", written, (config, key) => {
    // Without hosts it is a delegate, and stands only for itself in the objects that refer to it.
    if (!config.spec.hosts?.length) return [];
    const exportTo = exportsOf(config.spec.exportTo, inputs.settings().defaultVirtualServiceExportTo);
    const words = exportWords(exportTo, config.meta.namespace);
    return [[key, { config: resolve(config, written, inputs), words }]];
  });
  const heads = graph.derive<Resolved, VirtualServiceHead>("VirtualService heads", resolved, ({ config }, key) => [
    [key, headOf(key, config)],
  ]);
  // Eager, so that an edit which leaves them as they were does not even make scopes suspect.
  const targets = graph.derive<Resolved, readonly RouteTarget[]>(
    "VirtualService targets",
    resolved,
    ({ config }, key) => [[key, routeTargets(config.spec)]],
  );
  const byGateway = graph.index(resolved, "gateway", ({ config, words }) =>
    gatewaysOf(config.spec).flatMap((gateway) =>
      words.map((word) => `${bucket(word, config.meta.namespace)}|${gateway}`),
    ),
  );
  const sorted = graph.memo<readonly string[]>("VirtualServices by gateway", (word) =>
    byGateway
      .get(word)
      .flatMap((key) => heads.get(key) ?? [])
      .sort((a, b) => compareAge(a.meta, b.meta))
      .map((head) => head.key),
  );
  /** Namespaces that are treated apart: as a source of traffic, or as consumers by the rules of the Gateway API. */
  const apart = graph.index(heads, "namespace apart", (head) => [
    ...head.sourceNamespaces,
    ...(head.gatewayApi ? [head.meta.namespace] : []),
  ]);
  const boundGroups: VirtualServices["boundGroups"] = (namespace, gateway) =>
    [`own:${namespace}`, `to:${namespace}`, everyone].map((word) => sorted.get(`${word}|${gateway}`));
  return {
    get: (key) => resolved.get(key)?.config,
    head: (key) => heads.get(key),
    targets: (key) => targets.get(key) ?? [],
    boundGroups,
    seesPublicOnly: (namespace) =>
      apart.get(namespace).length === 0 &&
      [`own:${namespace}`, `to:${namespace}`].every((word) => byGateway.get(`${word}|mesh`).length === 0),
    bound(namespace, gateway) {
      const [own = [], exported = [], open = []] = boundGroups(namespace, gateway);
      const isConsumer = (key: string): boolean => {
        const head = heads.get(key);
        return head?.gatewayApi === true && head.meta.namespace === namespace;
      };
      return [...own, ...exported, ...open.filter(isConsumer), ...open.filter((key) => !isConsumer(key))];
    },
  };
}

function resolve(config: VirtualService, written: Collection<VirtualService>, inputs: MeshInputs): VirtualService {
  const semantics = config.meta.annotations?.[routeSemantics];
  if (semantics === "gateway") return config;
  const root = resolveVirtualService(config, inputs.domain);
  if (semantics === "ingress" || !root.spec.http?.some((route) => route.delegate)) return root;
  const http = root.spec.http.flatMap((route) => {
    if (!route.delegate) return [route];
    const { name = "", namespace = "" } = route.delegate;
    const delegate = written.get(`${namespace === "" ? config.meta.namespace : namespace}/${name}`);
    // Only a VirtualService without hosts is a delegate, so delegation cannot go round in circles.
    if (!delegate || delegate.spec.hosts?.length || !isExported(delegate, config.meta.namespace, inputs)) return [];
    return mergeDelegate(route, resolveVirtualService(delegate, inputs.domain).spec.http ?? []);
  });
  return { ...root, spec: { ...root.spec, http } };
}

function isExported(delegate: VirtualService, namespace: string, inputs: MeshInputs): boolean {
  const exportTo = exportsOf(delegate.spec.exportTo, inputs.settings().defaultVirtualServiceExportTo);
  return exportTo.some((word) => word === everyone || (word === "." ? delegate.meta.namespace : word) === namespace);
}

function headOf(key: string, { meta, spec }: VirtualService): VirtualServiceHead {
  const { name, namespace, creationTimestamp } = meta;
  return {
    key,
    meta: { name, namespace, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
    hosts: spec.hosts ?? [],
    gatewayApi: meta.annotations?.[routeSemantics] === "gateway",
    semantics: meta.annotations?.[routeSemantics],
    layer4: (spec.tcp?.length ?? 0) + (spec.tls?.length ?? 0) > 0,
    ...sourcesOf(spec),
    unconditional: (spec.http ?? []).some((route) => !route.match?.length),
  };
}

function sourcesOf(spec: VirtualServiceSpec): Pick<VirtualServiceHead, "sourceNamespaces" | "sourced"> {
  const matches = [...(spec.http ?? []), ...(spec.tcp ?? []), ...(spec.tls ?? [])].flatMap(({ match = [] }) => [
    ...match,
  ]) as readonly { readonly sourceNamespace?: string; readonly sourceLabels?: object }[];
  const namespaces = matches.flatMap(({ sourceNamespace }) => (sourceNamespace ? [sourceNamespace] : []));
  const isSourced = matches.some(({ sourceLabels = {} }) => Object.keys(sourceLabels).length > 0);
  return { sourceNamespaces: [...new Set(namespaces)].sort(), sourced: isSourced || namespaces.length > 0 };
}

/** Words of a namespace's own objects and of those exported to it are kept apart: the former come first. */
function bucket(word: string, owner: string): string {
  if (word === everyone) return everyone;
  return word === owner ? `own:${word}` : `to:${word}`;
}

function gatewaysOf(spec: VirtualServiceSpec): readonly string[] {
  return spec.gateways?.length ? [...new Set(spec.gateways)] : ["mesh"];
}

function routeTargets(spec: VirtualServiceSpec): readonly RouteTarget[] {
  const http = (spec.http ?? []).flatMap((route) => {
    const from = sourceNamespaces(route.match ?? []);
    const destinations = [
      ...(route.route ?? []).map((r) => r.destination),
      route.mirror,
      ...(route.mirrors ?? []).map((m) => m.destination),
    ];
    return destinations.map((destination) => ({ destination, from }));
  });
  const plain = [...(spec.tcp ?? []), ...(spec.tls ?? [])].flatMap((route) =>
    (route.route ?? []).map((r) => ({ destination: r.destination, from: undefined })),
  );
  return [...http, ...plain].flatMap(({ destination, from }) =>
    destination ? [{ host: destination.host ?? "", port: destination.port?.number ?? 0, from }] : [],
  );
}

/** istiod's rule: the last match without a source namespace does not undo one before it that has another. */
function sourceNamespaces(matches: readonly { readonly sourceNamespace?: string }[]): readonly string[] | undefined {
  const named = matches.flatMap((match) => (match.sourceNamespace ? [match.sourceNamespace] : []));
  return named.length > 0 ? named : undefined;
}
