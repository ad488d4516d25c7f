/** A cell in; the values of all memo entries that were made from it out, each once. */
import { type Cell, type Computation, Entry } from "./cells.ts";

export function* dependentsOf(start: Cell | undefined): Generator<unknown> {
  const seen = new Set<Computation>();
  const cells: Cell[] = start ? [start] : [];
  for (let cell = cells.pop(); cell; cell = cells.pop())
    for (const reader of readersOf(cell)) {
      if (seen.has(reader)) continue;
      seen.add(reader);
      if (reader instanceof Entry) {
        yield reader.value;
        cells.push(reader);
      } else cells.push(...(reader.made?.() ?? []));
    }
}

function readersOf({ readers }: Cell): Iterable<Computation> {
  if (readers === undefined) return [];
  return readers instanceof Set ? readers : [readers];
}
