/** `/debug/diffz`: a change that is only thought of in, by POST; what it would do out. */
import { parseDiffQuestion } from "../../dashboard/index.ts";
import type { DebugView } from "../../ops/index.ts";
import type { MeshReads } from "../../read-api/index.ts";

export function createDiffView(diff: MeshReads["diff"]): DebugView {
  return {
    help: "what a change would do, by POST as JSON: objects (YAML), deleted, namespace, proxies, resources",
    async answer({ body, signal }) {
      return diff(parseDiffQuestion((await body()) || "{}"), signal);
    },
  };
}
