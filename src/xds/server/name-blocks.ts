/**
 * The bytes of names that follow each other in a request in; the names out. Proxies of one kind ask for the same thousand
 * names, so the newest few such blocks are known: who sends one of them again, be it in the order of another hash table,
 * gets the same list, read once.
 */
import { isAscii } from "node:buffer";
import { dropOldest } from "../../lib/index.ts";
import { readLength } from "./read-length.ts";

export interface NameBlock {
  readonly bytes: Buffer;
  readonly names: readonly string[];
}

/** The names that begin at this place of a message; undefined where one of them has no end. */
export type ReadNames = (message: Buffer, at: number) => NameBlock | undefined;

/** Below, reading costs no more than looking; above, one client could fill the memory. */
const minBytes = 2 * 1024;
const maxBytes = 256 * 1024;
const maxBlocks = 16;
const maxBegun = 64;

/** `tag` is what each name begins with. */
export function createReadNames(tag: number): ReadNames {
  const known = new Set<KnownBlock>();
  /** Lengths of blocks that came once: the same names have the same in any order. What nobody sends again is not worth a copy. */
  const begun = new Set<number>();

  function isAt({ bytes }: NameBlock, message: Buffer, at: number): boolean {
    const end = at + bytes.length;
    return end <= message.length && message[end] !== tag && message.compare(bytes, 0, bytes.length, at, end) === 0;
  }

  function remember(block: NameBlock): NameBlock {
    const { length } = block.bytes;
    if (length < minBytes || length > maxBytes) return block;
    if (!begun.has(length)) {
      begun.add(length);
      dropOldest(begun, maxBegun);
      return block;
    }
    // The message is part of a larger piece of memory, which is not to be kept with it.
    known.add({ ...block, bytes: Buffer.from(block.bytes), places: undefined });
    dropOldest(known, maxBlocks);
    return block;
  }

  function find(message: Buffer, at: number): KnownBlock | undefined {
    if (message.length - at < minBytes) return undefined;
    for (const block of known) if (isAt(block, message, at)) return block;
    for (const block of known) if (isShuffled(block, message, at, tag)) return block;
    return undefined;
  }

  return (message, at) => {
    const found = find(message, at);
    if (!found) {
      const block = readBlock(message, at, tag);
      return block && remember(block);
    }
    // What is asked for again counts as new.
    known.delete(found);
    known.add(found);
    return found;
  };
}

interface KnownBlock extends NameBlock {
  /** Where each name stands, made when somebody comes with a block of that length; empty where they are not plain ASCII. */
  places: ReadonlyMap<string, number> | undefined;
}

const noPlaces: ReadonlyMap<string, number> = new Map();

/** Whether the same names, each once, follow each other here. */
function isShuffled(block: KnownBlock, message: Buffer, at: number, tag: number): boolean {
  const { bytes, names } = block;
  const end = at + bytes.length;
  if (end > message.length || message[end] === tag) return false;
  block.places ??= isAscii(bytes) ? new Map(names.map((name, i) => [name, i])) : noPlaces;
  const { places } = block;
  if (places.size !== names.length) return false;
  // One text for all names, and none of them is kept: who has them already need not be handed them again.
  const text = message.toString("latin1", at, end);
  const seen = new Uint8Array(names.length);
  let count = 0;
  for (let from = 0; from < text.length; count++) {
    const length = text.charCodeAt(from + 1);
    const start = from + 2;
    const place = text.charCodeAt(from) === tag ? places.get(text.slice(start, start + length)) : undefined;
    if (place === undefined || seen[place] === 1) return false;
    seen[place] = 1;
    from = start + length;
  }
  return count === names.length;
}

function readBlock(message: Buffer, from: number, tag: number): NameBlock | undefined {
  const names: string[] = [];
  let at = from;
  while (message[at] === tag) {
    const { length, start } = readLength(message, at + 1);
    const end = start + length;
    if (end > message.length) return undefined;
    names.push(message.toString("utf8", start, end));
    at = end;
  }
  return { bytes: message.subarray(from, at), names };
}
