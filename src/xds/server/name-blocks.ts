/**
 * The bytes of names that follow each other in a request in; the names out. Proxies of one kind ask for the same thousand
 * names, so the newest few such blocks are known: who sends one of them again, be it in the order of another hash table,
 * gets the same list, read once.
 */
import { dropOldest, joinKept } from "../../lib/index.ts";
import { type Length, readLength } from "../read-bytes.ts";
import { createNamePlaces, type NamePlaces } from "./name-places.ts";

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

  function remember(block: NameBlock): NameBlock {
    const { length } = block.bytes;
    if (length < minBytes || length > maxBytes) return block;
    if (!begun.has(length)) {
      begun.add(length);
      dropOldest(begun, maxBegun);
      return block;
    }
    // The message is part of a larger piece of memory, which is not to be kept with it.
    known.add({ ...block, bytes: joinKept([block.bytes]), places: undefined });
    dropOldest(known, maxBlocks);
    return block;
  }

  function find(message: Buffer, at: number): KnownBlock | undefined {
    if (message.length - at < minBytes) return undefined;
    const { end, count } = extentOf(message, at, tag);
    const alike = [...known].filter(({ bytes, names }) => bytes.length === end - at && names.length === count);
    const same = alike.find(({ bytes }) => message.compare(bytes, 0, bytes.length, at, end) === 0);
    return same ?? alike.find((block) => placesOf(block).areIn(message, at, end));
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
  /** Made when somebody comes with a block of that length. */
  places: NamePlaces | undefined;
}

function placesOf(block: KnownBlock): NamePlaces {
  block.places ??= createNamePlaces(block.bytes, block.names.length);
  return block.places;
}

/** Where a block ends, and how many names it has; none that has no end. */
function extentOf(message: Buffer, from: number, tag: number): { readonly end: number; readonly count: number } {
  let end = from;
  let count = 0;
  for (; message[end] === tag; count++) {
    const short = message[end + 1] ?? 0;
    end = short < 0x80 ? end + 2 + short : endOf(readLength(message, end + 1));
    if (end > message.length) return { end: from, count: 0 };
  }
  return { end, count };
}

const endOf = ({ length, start }: Length): number => start + length;

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
