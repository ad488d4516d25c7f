/** What readers of encoded messages share, where these are read without the decoder. */

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

/** What stands for bytes that are no UTF-8; few texts have it as their own. */
export const mayBeNoText = (text: string): boolean => text.includes("\ufffd");

/** The same bytes: as it comes from a socket it is one already. */
export const asBuffer = (message: Uint8Array): Buffer =>
  Buffer.isBuffer(message) ? message : Buffer.from(message.buffer, message.byteOffset, message.length);
