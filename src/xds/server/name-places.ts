/**
 * The bytes of a block of names in; whether another one has the same names, in any order, out. A thousand names come with
 * each proxy: they are compared where they are, as a text for each would be most of what a proxy leaves to be collected.
 */
export interface NamePlaces {
  /** Of a block of as many bytes and names. */
  areIn(message: Uint8Array, from: number, to: number): boolean;
}

const nowhere: NamePlaces = { areIn: () => false };

/** Names that are chosen to meet in one place must not make this a long search; */
const maxSteps = 64;
/** nor in many: where names fall as they like, each takes half a step. */
const stepsForEach = 2;

/** Each name begins with a tag and its length; where one is longer than a byte says, or comes twice, nothing is the same. */
export function createNamePlaces(bytes: Uint8Array, count: number): NamePlaces {
  const mask = 2 ** Math.ceil(Math.log2(Math.max(count, 1) * 2)) - 1;
  const known = viewOf(bytes);
  /** Where a name begins that is found here, behind its length; zero where there is none. */
  const starts = new Uint32Array(mask + 1);
  const seen = new Uint8Array(mask + 1);

  let steps = 0;

  /** Of this name, or of the free place for it; -1 where it takes too many steps. */
  function placeOf(of: DataView, start: number): number {
    let place = hashOf(of, start) & mask;
    for (let step = 0; step < maxSteps; step++, place = (place + 1) & mask) {
      const found = starts[place] ?? 0;
      if (found === 0 || isSame(known, found, of, start)) return place;
      steps++;
    }
    return -1;
  }

  for (let at = 0; at < known.byteLength; at = endOf(known, at)) {
    const place = isShort(known, at) ? placeOf(known, at + 2) : -1;
    // To find them takes as many steps again.
    if (place < 0 || starts[place] !== 0 || steps > maxSteps + stepsForEach * count) return nowhere;
    starts[place] = at + 2;
  }

  return {
    areIn(message, from, to) {
      const view = viewOf(message);
      seen.fill(0);
      for (let at = from; at < to; at = endOf(view, at)) {
        const place = isShort(view, at) ? placeOf(view, at + 2) : -1;
        if (place < 0 || starts[place] === 0 || seen[place] === 1) return false;
        seen[place] = 1;
      }
      return true;
    },
  };
}

/** Four bytes at a time are read from it. */
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

const isShort = (bytes: DataView, at: number): boolean => bytes.getUint8(at + 1) < 0x80;

const endOf = (bytes: DataView, at: number): number => at + 2 + bytes.getUint8(at + 1);

function hashOf(bytes: DataView, start: number): number {
  const end = start + bytes.getUint8(start - 1);
  let hash = 0;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = Math.imul((hash ^ (hash >>> 15)) + bytes.getInt32(at, true), 0x9e3779b1);
  for (; at < end; at++) hash = Math.imul((hash ^ (hash >>> 15)) + bytes.getUint8(at), 0x9e3779b1);
  // The lower bits choose the place: the others count, too.
  return hash ^ (hash >>> 16);
}

/** Both begin behind their length. */
function isSame(one: DataView, from: number, other: DataView, start: number): boolean {
  const length = one.getUint8(from - 1);
  if (other.getUint8(start - 1) !== length) return false;
  let at = 0;
  for (; at + 4 <= length; at += 4)
    if (one.getInt32(from + at, true) !== other.getInt32(start + at, true)) return false;
  for (; at < length; at++) if (one.getUint8(from + at) !== other.getUint8(start + at)) return false;
  return true;
}
