/**
 * A store's path in; whether its disk takes writes, or what the system says against it, out. LMDB must not be the one who
 * finds out: its message about a write that was refused is longer than the memory it has for it, which ends the process.
 */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { isDiskFull } from "../lib/index.ts";

export interface Probe {
  /** Throws where the disk takes no writes (read-only, gone); `sync`: also where they do not get as far as the disk. */
  check(sync: boolean): void;
  close(): void;
}

const byte = Buffer.alloc(1);

export function openProbe(path: string): Probe {
  let file: number | undefined;
  return {
    check(sync) {
      try {
        file ??= openNameless(`${path}.probe`);
        writeSync(file, byte, 0, 1, 0);
        if (sync) fdatasyncSync(file);
      } catch (error) {
        // A full disk takes what fits into the room that the store has.
        if (!isDiskFull(error)) throw error;
      }
    },
    close() {
      if (file !== undefined) closeSync(file);
    },
  };
}

/** On the same disk, and gone with the process. */
function openNameless(path: string): number {
  const file = openSync(path, "w", 0o600);
  rmSync(path);
  return file;
}
