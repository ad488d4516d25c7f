/**
 * Pieces of a body in, the whole out. They are copied together as they come: kept as they are, pieces of one byte each
 * would take four hundred times their size.
 */
export interface CollectedBytes {
  readonly size: number;
  add(piece: Uint8Array): void;
  whole(): Buffer;
}

const firstBytes = 4096;

export function collectBytes(): CollectedBytes {
  let held = Buffer.alloc(0);
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(piece) {
      const needed = size + piece.length;
      if (needed > held.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(needed, held.length * 2, firstBytes));
        held.copy(larger, 0, 0, size);
        held = larger;
      }
      held.set(piece, size);
      size = needed;
    },
    whole: () => held.subarray(0, size),
  };
}
