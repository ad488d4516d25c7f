/** Work that compares in; its status out as with `kubectl diff`: 1 is a difference, whatever is more is an error. */
import type { Io } from "./command.ts";
import { tellError } from "./tell-error.ts";

export const failed = 2;

export async function endAsDiff(work: Promise<number>, io: Io, exit: (status: number) => void): Promise<void> {
  try {
    exit(await work);
  } catch (thrown) {
    if (io.signal.aborted) throw thrown;
    tellError(thrown, io);
    exit(failed);
  }
}
