/** What policies do in; the same without the objects that a viewer may not see out. */
import type { Mark } from "../../../read-api/index.ts";
import { type KindInNamespace, ofObject } from "./kind-in-namespace.ts";
import type { Sight } from "./sight.ts";

interface Sourced {
  /** `Kind/namespace/name`; absent where nobody said so. */
  readonly object?: string;
  readonly field?: string;
}

const ofSource = ({ object }: Sourced): readonly KindInNamespace[] => (object === undefined ? [] : [ofObject(object)]);

/** That something holds is no secret to whom it holds for; whose doing it is may be. */
export async function seenEffects<T extends Sourced>(effects: readonly T[], sight: Sight): Promise<readonly T[]> {
  const seen = new Set(await sight.seen(effects, ofSource));
  return effects.map((effect) => {
    const { object: _, field: __, ...rest } = effect;
    return seen.has(effect) ? effect : (rest as T);
  });
}

/** A mark whose object is hidden, or that names what is, is left out. */
export async function seenMarks<T extends { readonly marks: readonly Mark[] }>(
  rows: readonly T[],
  sight: Sight,
): Promise<readonly T[]> {
  const names = await sight.hiddenNames();
  const all = rows.flatMap(({ marks }) => marks).filter(({ says }) => !names(says));
  const seen = new Set(await sight.seen(all, ofSource));
  return rows.map((row) => ({ ...row, marks: row.marks.filter((mark) => seen.has(mark)) }));
}
