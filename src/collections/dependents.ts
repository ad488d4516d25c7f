/** Cells in; the values of all memo entries that were made from them out. */
import { type Cell, type Computation, Entry } from "./cells.ts";

/** Each value once. */
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

interface Bundle {
  readonly values: readonly unknown[];
  /** Where it goes on. */
  readonly hubs: readonly Cell[];
}

/** A cell that so many read is gone through once for all that it was made from. */
const hubReaders = 16;

/** For many cells at one moment: what is made from a cell that many read is kept, as one list. A value may be in several. */
export function createSharedDependents(): (start: Cell | undefined) => Iterable<readonly unknown[]> {
  const bundles = new Map<Cell, Bundle>();
  const bundleOf = (hub: Cell): Bundle => {
    const known = bundles.get(hub) ?? bundleFrom(hub);
    bundles.set(hub, known);
    return known;
  };
  return function* (start) {
    if (!start) return;
    const first = isHub(start) ? bundleOf(start) : bundleFrom(start);
    yield first.values;
    const seen = new Set(first.hubs);
    // A set goes on with what is added meanwhile.
    for (const hub of seen) {
      const { values, hubs } = bundleOf(hub);
      yield values;
      for (const further of hubs) seen.add(further);
    }
  };
}

function bundleFrom(start: Cell): Bundle {
  const values: unknown[] = [];
  const hubs: Cell[] = [];
  const seen = new Set<Computation>();
  const cells = [start];
  const goOn = (cell: Cell): void => void (isHub(cell) ? hubs : cells).push(cell);
  for (let cell = cells.pop(); cell; cell = cells.pop())
    for (const reader of readersOf(cell)) {
      if (seen.has(reader)) continue;
      seen.add(reader);
      if (reader instanceof Entry) {
        values.push(reader.value);
        goOn(reader);
      } else for (const made of reader.made?.() ?? []) goOn(made);
    }
  return { values, hubs };
}

const isHub = ({ readers }: Cell): boolean => readers instanceof Set && readers.size >= hubReaders;

function readersOf({ readers }: Cell): Iterable<Computation> {
  if (readers === undefined) return [];
  return readers instanceof Set ? readers : [readers];
}
