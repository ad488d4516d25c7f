/** Objects in; what proxies would be given by a control plane that has just started on them out. */
import { createGraph } from "../../collections/index.ts";
import { createMemorySource } from "../../kube/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { createEnvoyTypes } from "../../render/index.ts";
import { proxyOfNode } from "../proxy-of-node.ts";
import { createStages, type StagesOptions } from "../stages.ts";
import { watchObjects } from "../watched-kinds.ts";
import { type ControlledSource, createResourceSource } from "./resource-source.ts";

export type FreshOptions = Omit<StagesOptions, "graph" | "objects">;

/** A fault of ours is told by the control plane that lives; here it only leaves something out. */
const silent = (): void => {};

export async function createFreshSource(
  objects: Iterable<KubeObject>,
  options: FreshOptions,
): Promise<ControlledSource> {
  const graph = createGraph({ onFault: silent });
  const watched = watchObjects(createMemorySource({ graph, objects }));
  const stages = createStages({ ...options, graph, objects: watched.objects });
  const envoyTypes = createEnvoyTypes(graph);
  await envoyTypes.load();
  const { domain, cluster } = options;
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster };
  return createResourceSource({
    mesh: stages.mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf: stages.classOf,
    debounceMs: 0,
    debounceMaxMs: 0,
    envoyTypes,
    onFault: silent,
  });
}
