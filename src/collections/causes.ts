/** A computation in; the root objects, and the noted fields, that it was made from, and those that it looked for in vain, out. */
import { type Cause, type Cell, type Computation, Entry } from "./cells.ts";

/** Says of a memo and a key of it whether that is the part that is meant. */
export type IsPart = (memo: string, key: string) => boolean;

export interface Provenance {
  /** Those whose fields were noted first, then the nearest. */
  readonly causes: readonly Cause[];
  /** What was looked for by its key and is not there, as `set/key`. */
  readonly missing: readonly string[];
}

/** Of what is kept, or of those parts of it that are meant. */
export function provenanceOf(entry: Computation | undefined, isPart?: IsPart): Provenance {
  if (!entry) return { causes: [], missing: [] };
  const found = (isPart ? findParts(entry, isPart) : [entry]).map(collectProvenance);
  return { causes: found.flatMap(({ causes }) => causes), missing: found.flatMap(({ missing }) => missing) };
}

/** In the order of their distance, so that what was read itself comes before what stands behind it. */
function collectProvenance(entry: Computation): Provenance {
  const seen = new Set<Cell>();
  const noted = new Map<string, Cause>();
  const objects = new Map<string, Cause>();
  const missing = new Set<string>();
  let level: readonly Computation[] = [entry];
  while (level.length > 0) {
    const next: Computation[] = [];
    for (const computation of level) {
      for (const note of computation.notes ?? []) noted.set(`${note.object}#${note.field}`, note);
      for (const cell of computation.reads) {
        if (seen.has(cell)) continue;
        seen.add(cell);
        const object = cell.kind.origin?.(cell.key);
        if (object !== undefined) objects.set(object, { object });
        else if (cell.kind.origin) missing.add(`${cell.kind.name}/${cell.key}`);
        if (cell instanceof Entry) next.push(cell);
        next.push(...(cell.kind.behind?.(cell.key) ?? []));
      }
    }
    level = next;
  }
  return { causes: [...noted.values(), ...objects.values()], missing: [...missing] };
}

/** The parts behind a computation; below a part nothing is looked for. */
function findParts(entry: Computation, isPart: IsPart): readonly Computation[] {
  const seen = new Set<Cell>();
  const found: Computation[] = [];
  const walk = (computation: Computation): void => {
    for (const cell of computation.reads) {
      if (seen.has(cell) || !(cell instanceof Entry)) continue;
      seen.add(cell);
      if (isPart(cell.kind.name, cell.key)) found.push(cell);
      else walk(cell);
    }
  };
  walk(entry);
  return found;
}
