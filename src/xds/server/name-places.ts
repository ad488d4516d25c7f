/**
 * The bytes of a block of names in; whether another one has the same names, in any order, out. A thousand names come with
 * each proxy: they are compared where they are, as a text for each would be most of what a proxy leaves to be collected.
 */
export interface NamePlaces {
  /** Of a block of as many bytes and names. */
  areIn(message: Uint8Array, from: number, to: number): boolean;
}

const nowhere: NamePlaces = { areIn: () => false };

/** Names that are chosen to meet in one place must not make this a long search. */
const maxSteps = 64;

/** Each name begins with a tag and its length; where one is longer than a byte says, or comes twice, nothing is the same. */
export function createNamePlaces(bytes: Uint8Array, count: number): NamePlaces {
  const mask = 2 ** Math.ceil(Math.log2(Math.max(count, 1) * 2)) - 1;
  /** Where a name begins that is found here, behind its length; zero where there is none. */
  const starts = new Uint32Array(mask + 1);
  const seen = new Uint8Array(mask + 1);

  /** Of this name, or of the free place for it; -1 where it takes too many steps. */
  function placeOf(of: Uint8Array, start: number): number {
    let place = hashOf(of, start) & mask;
    for (let step = 0; step < maxSteps; step++, place = (place + 1) & mask) {
      const known = starts[place] ?? 0;
      if (known === 0 || isSame(bytes, known, of, start)) return place;
    }
    return -1;
  }

  for (let at = 0; at < bytes.length; at = endOf(bytes, at)) {
    const place = isShort(bytes, at) ? placeOf(bytes, at + 2) : -1;
    if (place < 0 || starts[place] !== 0) return nowhere;
    starts[place] = at + 2;
  }

  return {
    areIn(message, from, to) {
      seen.fill(0);
      for (let at = from; at < to; at = endOf(message, at)) {
        const place = isShort(message, at) ? placeOf(message, at + 2) : -1;
        if (place < 0 || starts[place] === 0 || seen[place] === 1) return false;
        seen[place] = 1;
      }
      return true;
    },
  };
}

const isShort = (bytes: Uint8Array, at: number): boolean => (bytes[at + 1] ?? 0) < 0x80;

const endOf = (bytes: Uint8Array, at: number): number => at + 2 + (bytes[at + 1] ?? 0);

function hashOf(bytes: Uint8Array, start: number): number {
  const end = start + (bytes[start - 1] ?? 0);
  let hash = 0;
  for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
  // The lower bits choose the place: the others count, too.
  hash = Math.imul(hash, 0x9e3779b1);
  return hash ^ (hash >>> 16);
}

/** Both begin behind their length. */
function isSame(one: Uint8Array, from: number, other: Uint8Array, start: number): boolean {
  const length = one[from - 1] ?? 0;
  if (other[start - 1] !== length) return false;
  for (let at = 0; at < length; at++) if (one[from + at] !== other[start + at]) return false;
  return true;
}
