/** Objects in memory in, the mesh and its proxies out, for commands that need no control plane. */
import { createGraph } from "../collections/index.ts";
import { isRecord, parseYaml, readRecord, readText } from "../lib/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { KubeObject, Proxy, ProxyClass } from "../model/index.ts";
import { createInputs, meshConfigKey } from "../registry/index.ts";
import { createStages } from "./stages.ts";

export interface OfflineInput {
  readonly objects: readonly KubeObject[];
  /** Wins over a ConfigMap `istio` in `istio-system` among the objects. */
  readonly meshConfig?: Readonly<Record<string, unknown>>;
}

export interface Offline {
  readonly mesh: Mesh;
  /** Sorted by namespace and name. */
  proxies(): readonly Proxy[];
  classOf(proxy: Proxy): ProxyClass;
  problems(): readonly string[];
}

export function createOffline({ objects, meshConfig }: OfflineInput): Offline {
  const graph = createGraph();
  const inputs = createInputs(graph);
  const config = meshConfig ?? meshConfigMap(objects);
  // Before the stages are made: a first fill in one go costs each derived set one pass.
  if (config) inputs.meshConfig.set(meshConfigKey, config);
  graph.change(() => {
    for (const object of objects) inputs.put(object);
  });
  const stages = createStages(graph, inputs);
  return {
    mesh: stages.mesh,
    proxies: () => stages.proxies.keys().flatMap((key) => stages.proxies.get(key) ?? []),
    classOf: stages.classOf,
    problems: () => stages.problems().map(({ object, path, message }) => `${object}${path === "" ? "" : ` ${path}`}: ${message}`),
  };
}

function meshConfigMap(objects: readonly KubeObject[]): Readonly<Record<string, unknown>> | undefined {
  const map = objects.find(
    ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "istio" && metadata.namespace === "istio-system",
  );
  const text = readText(readRecord(map?.["data"])["mesh"]);
  if (text === "") return undefined;
  const [document] = parseYaml(text);
  return isRecord(document) ? document : undefined;
}
