/**
 * A list of resources in, the pieces of its body out. Lists of many streams are nearly the same, so a list is cut into
 * runs at places that its own resources say: a run that is sent again within a short time is put together once, and is
 * the same chunk for every stream. What is kept is bounded, and goes when it is quiet. A list has thousands of resources
 * and each class of proxies its own: loops count, as an iterator makes an object for each of them.
 */
import { dropOldest, joinKept } from "../../lib/index.ts";

export interface BodyResource {
  readonly hash: string;
  readonly size: number;
}

export type Pieces = readonly Uint8Array[];

export type AddPieces<R> = (pieces: Uint8Array[], resource: R) => void;

export interface Bodies<R extends BodyResource> {
  /** The pieces that follow each other on the wire; `add` adds those of one resource. */
  of(list: readonly R[], add: AddPieces<R>): Pieces;
  /** The same for a list that is wholly known, without a look at its resources. */
  known(list: readonly R[]): Pieces | undefined;
  /** Bytes that are kept. */
  readonly kept: number;
}

interface Run<R> {
  readonly list: readonly R[];
  /** From the second time on: a run that only one stream is sent is never put together. */
  joined: Uint8Array | undefined;
}

/** The sizes between which chunks are written as they are. */
const minBytes = 16 * 1024;
const maxBytes = 64 * 1024;
const maxKept = 16 * 1024 * 1024;
const maxRuns = 4096;
const maxWholes = 64;
/** Runs that begin alike, as those of namespaces that see one resource of many otherwise. */
const maxAlike = 32;
const quietMs = 2_000;

export function createBodies<R extends BodyResource>(): Bodies<R> {
  /** By the first resource of the run; of those that begin alike the one that was sent last comes first. */
  const runs = new Map<R, Run<R>[]>();
  /** Lists of which every run is known. */
  const wholes = new Map<readonly R[], Pieces>();
  let kept = 0;
  let timer: NodeJS.Timeout | undefined;

  const clear = (): void => {
    runs.clear();
    wholes.clear();
    kept = 0;
    timer = undefined;
  };
  const forget = ({ joined }: Run<R>): void => {
    if (!joined) return;
    kept -= joined.length;
    // Only those that hold it: where many namespaces come, some run is forgotten all the time.
    for (const [list, pieces] of wholes) if (pieces.includes(joined)) wholes.delete(list);
  };
  const bound = (): void => {
    for (const [first, alike] of runs) {
      if (runs.size <= maxRuns && kept <= maxKept) return;
      alike.forEach(forget);
      runs.delete(first);
    }
  };

  function keepAwake(): void {
    timer ??= setTimeout(clear, quietMs).unref();
    timer.refresh();
  }

  /** Undefined for a run that was not sent before; it is remembered. */
  function joinedRun(
    first: R,
    list: readonly R[],
    from: number,
    to: number,
    addPieces: AddPieces<R>,
  ): Uint8Array | undefined {
    const alike = runs.get(first) ?? [];
    const known = runAmong(alike, list, from, to);
    if (!known) {
      const oldest = alike.length >= maxAlike ? alike.pop() : undefined;
      if (oldest) forget(oldest);
      alike.unshift({ list: list.slice(from, to), joined: undefined });
      runs.set(first, alike);
      bound();
      return undefined;
    }
    if (known.joined) return known.joined;
    const pieces: Uint8Array[] = [];
    for (const resource of known.list) addPieces(pieces, resource);
    known.joined = joinKept(pieces);
    kept += known.joined.length;
    bound();
    return known.joined;
  }

  function remember(list: readonly R[], pieces: Pieces): void {
    wholes.set(list, pieces);
    dropOldest(wholes, maxWholes);
  }

  function cut(list: readonly R[], addPieces: AddPieces<R>): Pieces {
    const pieces: Uint8Array[] = [];
    let isKnown = true;
    const add = (from: number, to: number, bytes: number): void => {
      const first = list[from];
      const joined = first && bytes >= minBytes ? joinedRun(first, list, from, to, addPieces) : undefined;
      if (joined) {
        pieces.push(joined);
        return;
      }
      isKnown &&= bytes < minBytes;
      for (let at = from; at < to; at++) addPieces(pieces, list[at] as R);
    };
    let from = 0;
    let bytes = 0;
    for (let at = 0; at < list.length; at++) {
      const { hash, size } = list[at] as R;
      bytes += size;
      if (bytes < minBytes || (bytes < maxBytes && !isCut(hash))) continue;
      add(from, at + 1, bytes);
      from = at + 1;
      bytes = 0;
    }
    add(from, list.length, bytes);
    if (isKnown) remember(list, pieces);
    return pieces;
  }

  return {
    of(list, addPieces) {
      keepAwake();
      return wholes.get(list) ?? cut(list, addPieces);
    },
    known(list) {
      const found = wholes.get(list);
      if (found) keepAwake();
      return found;
    },
    get kept() {
      return kept;
    },
  };
}

/** One resource in eight ends a run, so that after a difference two lists soon have the same runs again. */
const isCut = (hash: string): boolean => (hash.charCodeAt(hash.length - 1) & 7) === 0;

/** It comes to the front: nearly all streams are sent the same one, and a few one of their own. */
function runAmong<R>(alike: Run<R>[], list: readonly R[], from: number, to: number): Run<R> | undefined {
  for (let i = 0; i < alike.length; i++) {
    const run = alike[i];
    if (!run || !isRun(run.list, list, from, to)) continue;
    if (i > 0) {
      alike.splice(i, 1);
      alike.unshift(run);
    }
    return run;
  }
  return undefined;
}

export function addAll(pieces: Uint8Array[], more: Pieces): void {
  for (let at = 0; at < more.length; at++) pieces.push(more[at] as Uint8Array);
}

function isRun<R>(run: readonly R[], list: readonly R[], from: number, to: number): boolean {
  if (run.length !== to - from) return false;
  for (let at = 0; at < run.length; at++) if (run[at] !== list[from + at]) return false;
  return true;
}
