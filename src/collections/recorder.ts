/** Look-ups in; who has to run again when what was looked up changes out. */
import { Cell, type Computation, type State } from "./cells.ts";

export interface Recorder {
  /** True while a computation runs. */
  readonly recording: boolean;
  /** Look-ups that were recorded, and looked at again, so far. */
  readonly reads: number;
  record(cell: Cell): void;
  forget(computation: Computation): void;
  /** Runs the work with its look-ups recorded for the computation. */
  run<V>(computation: Computation, work: () => V): V;
  /** The same beside the look-ups that the computation has already. */
  extend<V>(computation: Computation, work: () => V): V;
  /** Tells the readers of a cell, and everything behind them. */
  mark(cell: Cell, state: "stale" | "suspect"): void;
  /** The cell is brought up to date at the end of the change, which tells its readers where it came out different. */
  settleLater(cell: Cell): void;
  settle(): void;
  /** True when the computation has to run again. */
  outdated(computation: Computation): boolean;
  note(object: string, field: string): void;
  untracked<T>(work: () => T): T;
  /** The cell was looked at from outside: it may stay until the sweep after next, even if nothing reads it. */
  visit(cell: Cell): void;
  /** Drops what nobody reads any longer, and then what only that had read. */
  sweep(): void;
}

export function createRecorder(): Recorder {
  let current: Computation | undefined;
  let reads = 0;
  /** Cells that may have no reader, and whether they can go at the next sweep. */
  const unread = new Map<Cell, boolean>();
  const unsettled = new Set<Cell>();

  const forget = (computation: Computation): void => {
    computation.notes = undefined;
    // One that runs for the first time has read nothing.
    if (computation.reads.length === 0) return;
    for (const cell of computation.reads) {
      cell.removeReader(computation);
      if (!cell.isRead && cell.kind.abandoned) unread.set(cell, true);
    }
    computation.reads = [];
  };

  const mark = (cell: Cell, state: "stale" | "suspect"): void => {
    const { readers } = cell;
    if (readers === undefined) return;
    for (const reader of readers instanceof Set ? readers : [readers]) {
      const was = reader.state;
      if (was === "stale" || was === state) continue;
      // What failed has no value that could turn out to hold still.
      reader.state = was === "failed" ? "stale" : state;
      if (was === "suspect") continue;
      reader.invalidated();
      if (reader instanceof Cell && !reader.kind.isEager) mark(reader, "suspect");
    }
  };

  return {
    get recording() {
      return current !== undefined;
    },
    get reads() {
      return reads;
    },
    record(cell) {
      reads++;
      if (!current || !cell.addReader(current)) return;
      current.reads.push(cell);
      if (cell.rank > current.rank) current.rank = cell.rank;
    },
    forget,
    run<V>(computation: Computation, work: () => V): V {
      forget(computation);
      const outer = current;
      current = computation;
      // Clean before the work, so that a change made by the work itself (which would be a fault) is not lost.
      computation.state = "clean";
      computation.running = true;
      computation.rank = (computation instanceof Cell ? computation.kind.rank : undefined) ?? 0;
      try {
        return work();
      } catch (error) {
        computation.state = "failed";
        throw error;
      } finally {
        computation.running = false;
        current = outer;
        // An array that has grown has room for 17; most computations read a few, and there are many of them.
        if (computation.reads.length > 0) computation.reads = computation.reads.slice();
      }
    },
    extend<V>(computation: Computation, work: () => V): V {
      const outer = current;
      current = computation;
      try {
        return work();
      } finally {
        current = outer;
      }
    },
    mark,
    settleLater: (cell) => void unsettled.add(cell),
    settle() {
      // The set grows while it is walked: what came out different may be read by others of them.
      for (const cell of unsettled) {
        unsettled.delete(cell);
        // Nobody reads what was dropped meanwhile. What fails is asked for again by its readers, who may contain it.
        if (cell.isRead && !isRefreshed(cell)) mark(cell, "stale");
      }
    },
    outdated(computation) {
      if (computation.state === "suspect") {
        reads += computation.reads.length;
        for (const cell of computation.reads)
          if (!isRefreshed(cell) || (computation.state as State) === "stale") return true;
        computation.state = "clean";
      }
      return computation.state !== "clean";
    },
    note(object, field) {
      if (!current) return;
      current.notes ??= [];
      current.notes.push({ object, field });
    },
    untracked<T>(work: () => T): T {
      const outer = current;
      current = undefined;
      try {
        return work();
      } finally {
        current = outer;
      }
    },
    visit(cell) {
      if (!current && !cell.isRead && cell.kind.abandoned) unread.set(cell, false);
    },
    sweep() {
      // What is being computed has not recorded all of its reads yet.
      if (current) return;
      const visited: Cell[] = [];
      // The map grows while it is walked: what is dropped may have been the last reader of others.
      for (const [cell, mayGo] of unread) {
        unread.delete(cell);
        if (cell.isRead) continue;
        if (mayGo) cell.kind.abandoned?.(cell);
        else visited.push(cell);
      }
      for (const cell of visited) if (!unread.has(cell)) unread.set(cell, true);
    },
  };
}

/** What fails now fails again where it is read: that is the place where somebody may contain it. */
function isRefreshed(cell: Cell): boolean {
  try {
    cell.refresh();
    return true;
  } catch {
    return false;
  }
}
