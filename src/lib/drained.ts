/** A stream that is full in; when it has room again, or is closed, out. */
import type { Writable } from "node:stream";

export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done).off("close", done);
      resolve();
    };
    if (stream.destroyed) resolve();
    else stream.once("drain", done).once("close", done);
  });
}
