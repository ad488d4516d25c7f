/** Which generations proxies have in; the debug path that answers for one object out. Proxies of this control plane are counted. */
import { FairleadError } from "../../lib/index.ts";
import type { DebugView } from "../../ops/index.ts";
import type { Programmed } from "./programmed.ts";
import { sayVerdict } from "./say.ts";

/** The others are counted. */
const maxListed = 100;

export function createProgrammedView(programmed: Programmed): DebugView {
  return {
    help: "how many proxies have acknowledged an object: ?object=VirtualService/default/reviews",
    async answer({ query }) {
      const object = query.get("object") ?? "";
      const at = object.indexOf("/");
      const verdict = at < 0 ? undefined : await programmed.of(object.slice(0, at), object.slice(at + 1));
      if (!verdict) throw new FairleadError("not-found", "no such object, or none that proxies are sent anything for");
      const { isDone, reason, message } = sayVerdict(verdict);
      const { generation, affected, acknowledged, refusing, waiting } = verdict;
      return {
        ...{ object, generation, isDone, reason, message, affected, acknowledged },
        refusing: refusing.slice(0, maxListed),
        waiting: waiting.slice(0, maxListed),
      };
    },
  };
}
