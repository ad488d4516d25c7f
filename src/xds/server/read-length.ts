/** Where a length begins in; the length, and where it ends, out. */
export interface Length {
  /** Infinite where the bytes end before it does. */
  readonly length: number;
  /** Of what has that length. */
  readonly start: number;
}

export function readLength(bytes: Uint8Array, from: number): Length {
  let length = 0;
  for (let at = from, shift = 0; shift < 28; at++, shift += 7) {
    const byte = bytes[at];
    if (byte === undefined) break;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { length, start: at + 1 };
  }
  return { length: Number.POSITIVE_INFINITY, start: from };
}
