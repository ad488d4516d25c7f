/** A computation in; the root objects, and the noted fields, that it was made from out. */
import { type Cause, type Cell, type Computation, Entry } from "./cells.ts";

export function collectCauses(entry: Computation): Cause[] {
  const seen = new Set<Cell>();
  const causes = new Map<string, Cause>();
  const walk = (computation: Computation): void => {
    for (const note of computation.notes ?? []) causes.set(`${note.object}#${note.field}`, note);
    for (const cell of computation.reads) {
      if (seen.has(cell)) continue;
      seen.add(cell);
      const object = cell.kind.origin?.(cell.key);
      if (object !== undefined) causes.set(object, { object });
      if (cell instanceof Entry) walk(cell);
      for (const maker of cell.kind.behind?.(cell.key) ?? []) walk(maker);
    }
  };
  walk(entry);
  const key = (cause: Cause): string => `${cause.object}#${cause.field ?? ""}`;
  return [...causes.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
