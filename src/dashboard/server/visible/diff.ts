/**
 * What a change would do: told to who sees the whole mesh. Of what a viewer may see alone, nobody can say what a change does
 * to all; and to take an object away shows it.
 */
import type { DiffReads } from "../../../read-api/index.ts";
import { notShown, type Sight } from "./sight.ts";

export function visibleDiff(reads: DiffReads, sight: Sight): DiffReads {
  return {
    async diff(question, signal) {
      return (await sight.seesWhole()) ? reads.diff(question, signal) : { code: "forbidden", error: notShown };
    },
  };
}
