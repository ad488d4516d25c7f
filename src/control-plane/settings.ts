/** MeshConfig as written in ConfigMap `istio` (or handed in) in; the mesh's settings, with the last good ones kept, out. */
import type { Collection, Graph } from "../collections/index.ts";
import { decodeMeshConfig, type Problem } from "../config/index.ts";
import { isRecord } from "../lib/index.ts";
import { type KubeObject, type MeshConfigSpec, matchesSelector, mergeMeshConfig } from "../model/index.ts";

export interface Settings {
  current(): MeshConfigSpec;
  /** MeshConfig as written. */
  text(): string;
  problems(): readonly Problem[];
  /** False for objects in namespaces that discoverySelectors leave out. */
  discovered(object: KubeObject): boolean;
  /** The namespaces that discoverySelectors let in. */
  readonly namespaces: Collection<KubeObject>;
}

export interface SettingsOptions {
  readonly configMaps: Collection<KubeObject>;
  readonly namespaces: Collection<KubeObject>;
  /** Name and namespace of the ConfigMap. */
  readonly configMap: string;
  /** Wins over the ConfigMap. */
  readonly meshConfig?: string | undefined;
}

export function createSettings(graph: Graph, options: SettingsOptions): Settings {
  const text = (): string => options.meshConfig ?? textOf(options.configMaps.get(options.configMap));
  let lastGood: MeshConfigSpec | undefined;
  const decoded = graph.memo<{ spec: MeshConfigSpec; problems: readonly Problem[] }>("settings", () => {
    const { ok, problems } = decodeMeshConfig(text());
    // A mesh config that cannot be read must not take the mesh down: the last good one stays in force.
    if (ok) lastGood = mergeMeshConfig(ok);
    return { spec: lastGood ?? mergeMeshConfig({}), problems };
  });
  const selected = graph.memo<boolean>("discovered", (name) => {
    const selectors = decoded.get("").spec.discoverySelectors ?? [];
    if (selectors.length === 0) return true;
    const labels = options.namespaces.get(name)?.metadata.labels ?? {};
    return selectors.some((selector) => matchesSelector(selector, labels));
  });
  return {
    current: () => decoded.get("").spec,
    text,
    problems: () => decoded.get("").problems,
    discovered: (object) => selected.get(object.metadata.namespace ?? "default"),
    namespaces: graph.derive("discovered namespaces", options.namespaces, (namespace, key) =>
      selected.get(key) ? [[key, namespace]] : [],
    ),
  };
}

function textOf(configMap: KubeObject | undefined): string {
  const data = configMap && isRecord(configMap.data) ? configMap.data.mesh : undefined;
  return typeof data === "string" ? data : "";
}
