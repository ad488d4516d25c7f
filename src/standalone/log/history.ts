/**
 * The file of a container's output in; which part of it is of which life of its process, and when it was written, out.
 * Processes write to it themselves, so its times are those at which it was seen to have grown. Offsets count all that was
 * ever written while we looked, whether or not it is still kept.
 */
import { readFrom, sizeOf, watchQuietly } from "./file.ts";

export interface LogLife {
  readonly from: number;
  /** Undefined while its process runs. */
  readonly to: number | undefined;
}

export interface LogHistory {
  current(): LogLife | undefined;
  previous(): LogLife | undefined;
  /** The process of the present life has ended. */
  ended(): void;
  /** How far it is written. */
  end(): number;
  /** From the offset on, or from the first that is still kept. */
  read(from: number, length: number): { readonly from: number; readonly bytes: Buffer };
  /** When the byte at this offset was there. */
  timeOf(offset: number): Date;
  /** The first offset that may be as late as this. */
  since(time: Date): number;
  /** Calls back when it has grown, and when a life ends. */
  watch(changed: () => void): () => void;
}

/** For whoever owns the file. */
interface OwnHistory extends LogHistory {
  begin(): void;
  /** Around what moves the content to `PATH.1` and leaves the file empty. */
  move(act: () => void): void;
}

interface Mark {
  readonly offset: number;
  readonly at: Date;
}

/** Old ones are thinned out: times of long ago are then less exact. */
const maxMarks = 2_000;
/** After each change, so that who writes without a pause wakes us only so often. */
const pauseMs = 50;
const pollMs = 500;

export function createLogHistory(path: string): OwnHistory {
  let moved = { bytes: 0, kept: 0 };
  let [current, previous]: [LogLife | undefined, LogLife | undefined] = [undefined, undefined];
  let marks: Mark[] = [{ offset: sizeOf(path), at: new Date() }];
  const listeners = new Set<() => void>();
  const end = (): number => moved.bytes + sizeOf(path);
  /** Whether it has grown since. */
  const mark = (): boolean => {
    const offset = end();
    if (offset <= (marks.at(-1)?.offset ?? -1)) return false;
    marks.push({ offset, at: new Date() });
    if (marks.length > maxMarks) marks = marks.filter((_, i) => i % 2 === 1 || i > maxMarks / 2);
    for (const listener of listeners) listener();
    return true;
  };
  const growth = watchGrowth(path, mark);
  const ended = (): void => {
    if (!current || current.to !== undefined) return;
    growth.stop();
    mark();
    current = { ...current, to: end() };
    for (const listener of listeners) listener();
  };
  return {
    current: () => current,
    previous: () => previous,
    begin() {
      ended();
      mark();
      // What came in between is of a child of the last process, and goes with the next.
      [previous, current] = [current, { from: current?.to ?? end(), to: undefined }];
      growth.start();
    },
    ended,
    end,
    read(from, length) {
      const start = Math.max(from, moved.bytes - moved.kept);
      const aside = Math.max(0, Math.min(length, moved.bytes - start));
      const bytes = Buffer.concat([
        ...(aside > 0 ? [readFrom(`${path}.1`, start - (moved.bytes - moved.kept), aside)] : []),
        ...(aside < length ? [readFrom(path, start + aside - moved.bytes, length - aside)] : []),
      ]);
      return { from: start, bytes };
    },
    timeOf: (offset) => marks[firstIndex(marks, (one) => one.offset > offset)]?.at ?? new Date(),
    since: (time) => marks[firstIndex(marks, (one) => one.at >= time) - 1]?.offset ?? 0,
    watch(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    move(act) {
      mark();
      const kept = sizeOf(path);
      act();
      moved = { bytes: moved.bytes + kept, kept };
    },
  };
}

/** Of those in order, the first for which it holds; their number where it holds for none. */
function firstIndex(marks: readonly Mark[], holds: (mark: Mark) => boolean): number {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = marks[middle];
    if (one && holds(one)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function watchGrowth(path: string, look: () => boolean): { start(): void; stop(): void } {
  let watcher: { close(): void } | undefined;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    watcher?.close();
    watcher = undefined;
    clearTimeout(timer);
  };
  const seen = (): void => {
    stop();
    look();
    timer = setTimeout(start, pauseMs).unref();
  };
  function start(): void {
    stop();
    // Before it is looked at, or what comes in between would be missed.
    watcher = watchQuietly(path, seen);
    if (look()) seen();
    // Where the machine has no more watches to give, a look now and then does.
    else if (!watcher) timer = setTimeout(start, pollMs).unref();
  }
  return { start, stop };
}
