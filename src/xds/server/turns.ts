/**
 * Streams that have something to send in; each gets its turn, those that have no config yet before the others. Turns are
 * taken in slices, so that new connections and requests are served in between, and only so many write at the same time.
 */

/** Is told the time, and does its work at once; what it returns says how far a reader is that has not taken all of it at once. */
export type Turn = (nowMs: number) => Writing | undefined;

export interface Writing {
  /** When all is written. It never rejects. */
  readonly done: Promise<void>;
  /** How often the reader has taken all that waited for it: where it stays the same, the reader takes nothing. */
  readonly drains: () => number;
}

export interface Turns {
  take(turn: Turn, options: { readonly urgent: boolean }): void;
  /** Who waits. */
  readonly waiting: number;
}

export interface TurnsOptions {
  readonly maxWriting: number;
  /** A turn that a slow reader draws out longer no longer counts as writing; it goes on. */
  readonly maxWritingMs: number;
  /** While others wait, one whose reader takes nothing for so long no longer counts either. */
  readonly stalledMs: number;
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

/** So often one is looked at before it is stalled. The event loop has its own in between: a busy one stalls no reader. */
const looks = 3;

/** Who takes what it is sent sooner shares no slow network: that he moves says nothing of those that do not. */
const slowLooks = 2;

/** While others read slowly, one is stalled only when each of these could have moved so often since it did. */
const rounds = 8;

interface Slot {
  readonly writing: Writing;
  readonly endMs: number;
  readonly urgent: boolean;
  /** As they were when last looked at, and since how many looks. */
  drains: number;
  still: number;
  /** How much all had moved when this one moved last. */
  moves: number;
}

export function createTurns(options: TurnsOptions): Turns {
  const { maxWriting, nowMs } = options;
  const lines = [createLine<Turn>(), createLine<Turn>()] as const;
  const maxUrgent = maxWriting - Math.floor(maxWriting / share);
  /** Who has moved last comes last. */
  const writing = new Set<Slot>();
  /** Those that go on without counting. */
  const stalled = new Set<Slot>();
  let urgentWriting = 0;
  let scheduled = false;
  let sweep: NodeJS.Timeout | undefined;
  let looking = false;
  /** How often a slow reader has taken what waited for it. */
  let moves = 0;
  let taken = 0;

  return {
    take(turn, { urgent }) {
      lines[urgent ? 0 : 1].push(turn);
      schedule();
    },
    get waiting() {
      return waiting();
    },
  };

  function waiting(): number {
    return lines[0].size() + lines[1].size();
  }

  function schedule(): void {
    if (scheduled) return;
    if (mayStart()) {
      scheduled = true;
      setImmediate(slice);
    } else if (waiting() > 0 && !looking) {
      looking = true;
      setTimeout(look, options.stalledMs / looks).unref();
    }
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
    const began = lines[urgent ? 0 : 1].shift()?.(atMs);
    if (!began) return;
    const endMs = atMs + options.maxWritingMs;
    const slot = { writing: began, endMs, urgent, drains: began.drains(), still: 0, moves };
    writing.add(slot);
    if (urgent) urgentWriting++;
    sweep ??= setInterval(releaseSlow, 250).unref();
    void began.done.then(() => {
      if (slot.still >= slowLooks) moves++;
      end(slot);
    });
  }

  function end(slot: Slot): void {
    release(slot);
    stalled.delete(slot);
    if (writing.size > 0 || stalled.size > 0) return;
    clearInterval(sweep);
    sweep = undefined;
  }

  function release(slot: Slot): void {
    if (!writing.delete(slot)) return;
    if (slot.urgent) urgentWriting--;
    schedule();
  }

  function releaseSlow(): void {
    const atMs = nowMs();
    for (const slot of [...writing, ...stalled]) {
      if (slot.endMs > atMs) continue;
      options.onSlow();
      end(slot);
    }
  }

  /** Somebody waits: whose reader takes nothing must not be in his way. */
  function look(): void {
    looking = false;
    noteMoves();
    let behind = writing.size;
    for (const slot of writing) {
      behind--;
      if (slot.still < looks) continue;
      const missed = moves - slot.moves;
      // Much is taken, by many: where all that they share is a slow network, the next batch may be this one's.
      if (missed >= slot.still && missed < behind * rounds) continue;
      stalled.add(slot);
      release(slot);
    }
    schedule();
  }

  function noteMoves(): void {
    const moved: Slot[] = [];
    for (const slot of writing) {
      const drains = slot.writing.drains();
      if (drains === slot.drains) slot.still++;
      else moved.push(slot);
      slot.drains = drains;
    }
    moves += moved.filter(({ still }) => still >= slowLooks).length;
    for (const slot of moved) {
      slot.still = 0;
      slot.moves = moves;
      writing.delete(slot);
      writing.add(slot);
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
