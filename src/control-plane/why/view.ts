/** `/debug/whyz`: a question about a request in, by POST or in the URL; what becomes of it out. */
import { parseWhyQuestion, readWhyQuestion } from "../../dashboard/index.ts";
import type { DebugView } from "../../ops/index.ts";
import type { MeshReads } from "../../read-api/index.ts";

/** Headers and tokens go by POST alone: URLs are written down on their way. */
export function createWhyView(why: MeshReads["why"]): DebugView {
  return {
    help: "what becomes of a request: ?source=&destination=&namespace=&method=, or by POST as JSON, also headers and token",
    async answer({ query, body }) {
      const text = await body();
      return why(text === "" ? readWhyQuestion(named(query)) : parseWhyQuestion(text));
    },
  };
}

const inUrl: readonly string[] = ["source", "destination", "namespace", "method", "sni", "from", "log"];

const named = (query: URLSearchParams): object =>
  Object.fromEntries([...query].filter(([name]) => inUrl.includes(name)));
