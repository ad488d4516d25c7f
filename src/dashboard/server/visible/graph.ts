/** Who talks with whom: workloads whose Pods are not seen are one place without a name. */
import type { GraphReads } from "../../../read-api/index.ts";
import { seenMarks } from "./effects.ts";
import type { Sight } from "./sight.ts";

export function visibleGraph(reads: GraphReads, sight: Sight): GraphReads {
  return {
    async graph(question) {
      const graph = await reads.graph({ ...question, sees: await sight.pods() });
      return { ...graph, nodes: await seenMarks(graph.nodes, sight), edges: await seenMarks(graph.edges, sight) };
    },
  };
}
