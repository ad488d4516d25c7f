/** A file that somebody else writes to in; its size, its bytes and the moments of its growth out. */
import { closeSync, type FSWatcher, openSync, readSync, statSync, watch } from "node:fs";

export function watchQuietly(path: string, changed: () => void): FSWatcher | undefined {
  try {
    return watch(path, changed).on("error", () => {});
  } catch {
    return undefined;
  }
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

export function readFrom(path: string, offset: number, length: number): Buffer {
  const fd = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(Math.min(length, Math.max(0, sizeOf(path) - offset)));
    return buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, offset));
  } finally {
    closeSync(fd);
  }
}
