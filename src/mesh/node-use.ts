/** Services and config objects in; whether anything in the mesh depends on the node a client runs on, out. */
import type { Collection, Graph } from "../collections/index.ts";
import type { Config } from "../model/index.ts";
import type { MeshInputs } from "./inputs.ts";

const nodeLabel = "kubernetes.io/hostname";

/** False in most meshes, where proxies on different nodes then share a class. */
export function createNodeUse(graph: Graph, inputs: MeshInputs): () => boolean {
  const { services, configs, settings } = inputs;
  const local = graph.index(services, "node", (service) =>
    service.nodeLocal || service.trafficDistribution === "prefer-same-node" ? [nodeLabel] : [],
  );
  const mentions = (collection: Collection<Config<object>>) =>
    graph.index(collection, "node", ({ spec }) => (JSON.stringify(spec).includes(nodeLabel) ? [nodeLabel] : []));
  const all = [local, mentions(configs.destinationRules), mentions(configs.sidecars), mentions(configs.envoyFilters)];
  const used = graph.memo<boolean>(
    "node use",
    () =>
      JSON.stringify(settings().localityLbSetting ?? {}).includes(nodeLabel) ||
      all.some((index) => index.get(nodeLabel).length > 0),
  );
  return () => used.get("");
}
