/**
 * Pieces of bytes in, one that is to be kept out. Node takes what is short from a pool of 64 KB that stays as long as any part
 * of it: of a few hundred bytes for each class of proxies all that was made in passing beside them would be kept too.
 */
export function joinKept(pieces: readonly Uint8Array[]): Buffer {
  const joined = keptBytes(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** To be written as a whole: what is in it is anything. */
export const keptBytes = (size: number): Buffer => Buffer.allocUnsafeSlow(size);
