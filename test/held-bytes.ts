/** For tests: what this process holds, of the heap and beside it, once everything is collected that nobody needs. */
import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // What a finalizer lets go is garbage of the next collection.
  for (let i = 0; i < 4; i++) {
    collect();
    await wait(5);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
