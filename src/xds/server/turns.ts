/**
 * Streams that have something to send in; each gets its turn, those that have no config yet before the others. Turns are
 * taken in slices, so that new connections and requests are served in between, and only so many write at the same time.
 */

/** Is told the time, and does its work at once; where the reader is slow, the promise says when all is written. It never rejects. */
export type Turn = (nowMs: number) => Promise<void> | undefined;

export interface Turns {
  take(turn: Turn, options: { readonly urgent: boolean }): void;
  /** Who waits. */
  readonly waiting: number;
}

export interface TurnsOptions {
  readonly maxWriting: number;
  /** A turn that a slow reader draws out longer no longer counts as writing; it goes on. */
  readonly maxWritingMs: number;
  readonly onSlow: () => void;
  readonly nowMs: () => number;
}

/** How long turns follow each other before the event loop has its own. */
const sliceMs = 5;

/**
 * Among the urgent ones, every so many turns is one of the others: they must not starve while a herd comes in. So many of
 * those that write are kept for them, too: who comes and reads nothing would have all of them.
 */
const share = 8;

export function createTurns(options: TurnsOptions): Turns {
  const { maxWriting, nowMs } = options;
  const lines = [createLine<Turn>(), createLine<Turn>()] as const;
  const maxUrgent = maxWriting - Math.floor(maxWriting / share);
  const writing = new Map<symbol, { readonly endMs: number; readonly urgent: boolean }>();
  let urgentWriting = 0;
  let scheduled = false;
  let sweep: NodeJS.Timeout | undefined;
  let taken = 0;

  return {
    take(turn, { urgent }) {
      lines[urgent ? 0 : 1].push(turn);
      schedule();
    },
    get waiting() {
      return lines[0].size() + lines[1].size();
    },
  };

  function schedule(): void {
    if (scheduled || !mayStart()) return;
    scheduled = true;
    setImmediate(slice);
  }

  function mayUrge(): boolean {
    return lines[0].size() > 0 && urgentWriting < maxUrgent;
  }

  function mayStart(): boolean {
    return writing.size < maxWriting && (lines[1].size() > 0 || mayUrge());
  }

  function slice(): void {
    scheduled = false;
    let atMs = nowMs();
    const endMs = atMs + sliceMs;
    while (mayStart() && atMs < endMs) {
      start(atMs);
      atMs = nowMs();
    }
    schedule();
  }

  function start(atMs: number): void {
    const isOthers = taken++ % share === share - 1 && lines[1].size() > 0;
    const urgent = mayUrge() && !isOthers;
    const written = lines[urgent ? 0 : 1].shift()?.(atMs);
    if (!written) return;
    const id = Symbol();
    writing.set(id, { endMs: atMs + options.maxWritingMs, urgent });
    if (urgent) urgentWriting++;
    sweep ??= setInterval(releaseSlow, 250).unref();
    void written.then(() => release(id));
  }

  function release(id: symbol): void {
    const { urgent } = writing.get(id) ?? {};
    if (!writing.delete(id)) return;
    if (urgent) urgentWriting--;
    if (writing.size === 0) {
      clearInterval(sweep);
      sweep = undefined;
    }
    schedule();
  }

  function releaseSlow(): void {
    const atMs = nowMs();
    for (const [id, { endMs }] of writing) {
      if (endMs > atMs) continue;
      options.onSlow();
      release(id);
    }
  }
}

/** First in, first out. */
function createLine<T>() {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    size: () => items.length - head,
    push: (item: T) => void items.push(item),
    shift(): T | undefined {
      const item = items[head];
      items[head] = undefined;
      head++;
      if (head < items.length) return item;
      items = [];
      head = 0;
      return item;
    },
  };
}
