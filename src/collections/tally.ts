/** What becomes of a memo's entries in; figures of it, kept as integers beside the work, out. */
import type { Entry } from "./cells.ts";
import type { Recorder } from "./recorder.ts";

/** All but the last only ever grow. */
export interface Tally {
  /** Look-ups that found what they asked for, with nothing to be made. */
  hits: number;
  /** How often an entry was computed. */
  computed: number;
  /** Entries that were kept and are not any more. */
  dropped: number;
  /** What the entries that are kept have looked up, each thing once for each entry. */
  lookups: number;
}

export const createTally = (): Tally => ({ hits: 0, computed: 0, dropped: 0, lookups: 0 });

/** What fails has looked something up too, and keeps it. */
export function runCounted<V>(tally: Tally, recorder: Recorder, entry: Entry<unknown>, work: () => V): V {
  tally.lookups -= entry.reads.length;
  try {
    return recorder.run(entry, work);
  } finally {
    tally.lookups += entry.reads.length;
  }
}

export function dropCounted(tally: Tally, recorder: Recorder, entry: Entry<unknown>): void {
  tally.dropped++;
  tally.lookups -= entry.reads.length;
  recorder.forget(entry);
}
