/** Changes in; the word that the difference of each has been worked out, with a turn for everybody else between, out. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Change } from "../../read-api/index.ts";

/** A difference is worked out when it is first looked at: a page of them in one turn would hold up all proxies. */
export async function lookInTurns(changes: readonly Change[]): Promise<void> {
  for (const change of changes) {
    void change.diff;
    await nextTurn();
  }
}
