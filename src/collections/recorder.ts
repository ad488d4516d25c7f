/** Look-ups in; who has to run again when what was looked up changes out. */
import { Cell, type Computation, type State } from "./cells.ts";

export interface Recorder {
  /** True while a computation runs. */
  readonly recording: boolean;
  record(cell: Cell): void;
  forget(computation: Computation): void;
  /** Runs the work with its look-ups recorded for the computation. */
  run<V>(computation: Computation, work: () => V): V;
  /** Tells the readers of a cell, and everything behind them. */
  mark(cell: Cell, state: "stale" | "suspect"): void;
  /** True when the computation has to run again. */
  outdated(computation: Computation): boolean;
  note(object: string, field: string): void;
  untracked<T>(work: () => T): T;
}

export function createRecorder(): Recorder {
  let current: Computation | undefined;

  const forget = (computation: Computation): void => {
    for (const cell of computation.reads) cell.readers?.delete(computation);
    computation.reads = [];
    computation.notes = undefined;
  };

  const mark = (cell: Cell, state: "stale" | "suspect"): void => {
    for (const reader of cell.readers ?? []) {
      const was = reader.state;
      if (was === "stale" || was === state) continue;
      reader.state = state;
      if (was !== "clean") continue;
      reader.invalidated();
      if (reader instanceof Cell) mark(reader, "suspect");
    }
  };

  return {
    get recording() {
      return current !== undefined;
    },
    record(cell) {
      if (!current) return;
      cell.readers ??= new Set();
      if (cell.readers.has(current)) return;
      cell.readers.add(current);
      current.reads.push(cell);
    },
    forget,
    run<V>(computation: Computation, work: () => V): V {
      forget(computation);
      const outer = current;
      current = computation;
      // Clean before the work, so that a change made by the work itself (which would be a fault) is not lost.
      computation.state = "clean";
      computation.running = true;
      try {
        return work();
      } catch (error) {
        computation.state = "stale";
        throw error;
      } finally {
        computation.running = false;
        current = outer;
      }
    },
    mark,
    outdated(computation) {
      if (computation.state === "suspect") {
        for (const cell of computation.reads) {
          cell.refresh();
          if ((computation.state as State) === "stale") return true;
        }
        computation.state = "clean";
      }
      return computation.state === "stale";
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
  };
}
