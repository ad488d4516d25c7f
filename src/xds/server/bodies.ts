/**
 * A list of resources in, their encoded bodies out: put together once for all streams that are sent the same list within
 * a short time, as a whole fleet is after a change and at its start. What is kept is bounded, and goes when it is quiet.
 */

export type Pieces = readonly Uint8Array[];

export interface Bodies {
  /** The pieces that follow each other on the wire; `make` says them one by one. */
  get(list: readonly object[], bytes: number, make: () => Pieces): Pieces;
  /** Bytes that are kept. */
  readonly kept: number;
}

interface Entry {
  readonly list: readonly object[];
  readonly bytes: number;
  /** From the second time on: a list that only one stream is sent is never put together. */
  joined: Pieces | undefined;
}

const maxBytes = 16 * 1024 * 1024;
const maxLists = 64;
const chunkBytes = 64 * 1024;
const quietMs = 2_000;

export function createBodies(): Bodies {
  /** The latest last. */
  let entries: Entry[] = [];
  let kept = 0;
  let timer: NodeJS.Timeout | undefined;

  const forget = (entry: Entry): void => {
    if (entry.joined) kept -= entry.bytes;
  };
  const clear = (): void => {
    entries = [];
    kept = 0;
    timer = undefined;
  };
  const bound = (): void => {
    while (entries.length > maxLists || (kept > maxBytes && entries.length > 1)) {
      const oldest = entries.shift();
      if (oldest) forget(oldest);
    }
  };
  const join = (entry: Entry, pieces: Pieces): Pieces => {
    entry.joined = joinPieces(pieces);
    kept += entry.bytes;
    bound();
    return entry.joined;
  };

  return {
    get(list, bytes, make) {
      if (bytes > maxBytes) return make();
      timer ??= setTimeout(clear, quietMs).unref();
      timer.refresh();
      const at = entries.findLastIndex((entry) => entry.bytes === bytes && isSame(entry.list, list));
      const known = entries[at];
      if (known) return known.joined ?? join(known, make());
      entries.push({ list, bytes, joined: undefined });
      bound();
      return make();
    },
    get kept() {
      return kept;
    },
  };
}

/** The same resources in the same order; streams have lists of their own where they ask by name. */
function isSame(a: readonly object[], b: readonly object[]): boolean {
  return a === b || (a.length === b.length && a.every((resource, i) => resource === b[i]));
}

/** Chunks of the size in which they are written, so that they are written as they are. */
function joinPieces(pieces: Pieces): Pieces {
  const chunks: Uint8Array[] = [];
  let gathered: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    gathered.push(piece);
    size += piece.length;
    if (size < chunkBytes) continue;
    chunks.push(Buffer.concat(gathered));
    gathered = [];
    size = 0;
  }
  if (gathered.length > 0) chunks.push(Buffer.concat(gathered));
  return chunks;
}
