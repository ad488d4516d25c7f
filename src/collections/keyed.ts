/** A keyed set whose look-ups are recorded, misses too, and that tells its readers when a key has changed. */
import { Cell, type CellKind } from "./cells.ts";
import type { Collection } from "./collection.ts";
import type { Recorder } from "./recorder.ts";

export interface Keyed<T> {
  readonly members: Map<string, T>;
  /** Keys that somebody reads, whether or not they have a member. */
  readonly cells: ReadonlyMap<string, Cell>;
  /** Undefined removes. */
  put(key: string, value: T | undefined): void;
  readonly collection: Collection<T>;
}

export function createKeyed<T>(
  recorder: Recorder,
  name: string,
  describe?: (key: string, value: T) => string,
  derived?: Pick<CellKind, "behind" | "rank">,
): Keyed<T> {
  const members = new Map<string, T>();
  const cells = new Map<string, Cell>();
  const listeners = new Set<(key: string, now: T | undefined, before: T | undefined) => void>();
  let sorted: readonly string[] | undefined;
  const rank = derived?.rank ?? 0;
  const membership = new Cell({ name, rank }, "*");
  const kind: CellKind = {
    name,
    ...derived,
    abandoned: (cell) => cells.delete(cell.key),
    ...(describe
      ? {
          origin(key: string) {
            const value = members.get(key);
            return value === undefined ? undefined : describe(key, value);
          },
        }
      : {}),
  };
  const cellOf = (key: string): Cell => {
    let cell = cells.get(key);
    if (!cell) {
      cell = new Cell(kind, key);
      cells.set(key, cell);
    }
    return cell;
  };
  const put = (key: string, value: T | undefined): void => {
    const before = members.get(key);
    if (value === undefined) members.delete(key);
    else members.set(key, value);
    if ((before === undefined) !== (value === undefined)) {
      sorted = undefined;
      recorder.mark(membership, "stale");
    }
    const cell = cells.get(key);
    if (cell) recorder.mark(cell, "stale");
    for (const listener of listeners) listener(key, value, before);
  };
  const collection: Collection<T> = {
    name,
    rank,
    get(key) {
      if (recorder.recording) recorder.record(cellOf(key));
      return members.get(key);
    },
    keys() {
      recorder.record(membership);
      sorted ??= [...members.keys()].sort();
      return sorted;
    },
    get size() {
      return members.size;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { members, cells, put, collection };
}
