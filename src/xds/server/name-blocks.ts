/**
 * The bytes of names that follow each other in a request in; the names out. Proxies of one kind ask for the same thousand
 * names in the same order, so the newest few such blocks are known by their bytes: who sends one of them again gets the
 * same list, read once.
 */
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
const startBytes = 512;
const maxBegun = 64;

/** `tag` is what each name begins with. */
export function createReadNames(tag: number): ReadNames {
  const known = new Set<NameBlock>();
  /** How blocks began that came once: one that nobody sends again, as from a client without order, is not worth a copy. */
  const begun = new Set<string>();

  function isAt({ bytes }: NameBlock, message: Buffer, at: number): boolean {
    const end = at + bytes.length;
    return end <= message.length && message[end] !== tag && message.compare(bytes, 0, bytes.length, at, end) === 0;
  }

  function remember(block: NameBlock): NameBlock {
    const { length } = block.bytes;
    if (length < minBytes || length > maxBytes) return block;
    const start = `${length} ${block.bytes.toString("latin1", 0, startBytes)}`;
    if (!begun.has(start)) {
      begun.add(start);
      dropOldest(begun, maxBegun);
      return block;
    }
    // The message is part of a larger piece of memory, which is not to be kept with it.
    known.add({ ...block, bytes: Buffer.from(block.bytes) });
    dropOldest(known, maxBlocks);
    return block;
  }

  return (message, at) => {
    const found = message.length - at < minBytes ? undefined : known.values().find((block) => isAt(block, message, at));
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
