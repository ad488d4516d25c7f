/**
 * A store's file and what is about to be written in; the room for it on the disk taken beforehand, or the system's refusal,
 * out. LMDB spoils its own memory where a write fails halfway, and ends the process some writes later.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from "node:fs";

export interface Room {
  /** So many bytes from this place of the file on, behind all that is in use; throws what the system says where they are not there. */
  take(from: number, bytes: number): void;
  /**
   * Gives back everything from this place on, after an error of the disk. What failed to be written there once may be lost
   * when it is written again without an error: ext4 then takes blocks for written that it has not marked as such on disk.
   */
  giveBack(from: number): void;
  close(): void;
}

/** Taken at a time where the disk has it: not every write has to ask. */
const stepBytes = 256 * 1024;
const zeros = Buffer.alloc(64 * 1024);

export function openRoom(path: string): Room {
  const file = openSync(path, "r+");
  let taken = fstatSync(file).size;
  /** What was taken and is not enough goes back: others need it to end well. */
  const extend = (from: number, to: number): void => {
    try {
      for (let at = from; at < to; at += zeros.length) {
        const wanted = Math.min(zeros.length, to - at);
        // On a disk that is all but full less may be written than was asked for, without a word.
        for (let done = 0; done < wanted; ) done += writeSync(file, zeros, 0, wanted - done, at + done);
      }
    } catch (error) {
      ftruncateSync(file, from);
      throw error;
    }
  };
  return {
    take(from, bytes) {
      const end = from + bytes;
      if (end <= taken) return;
      const begin = Math.max(from, taken);
      const more = Math.ceil(end / stepBytes) * stepBytes;
      try {
        extend(begin, more);
        taken = more;
      } catch {
        extend(begin, end);
        taken = end;
      }
    },
    giveBack(from) {
      ftruncateSync(file, from);
      taken = from;
    },
    close: () => closeSync(file),
  };
}
