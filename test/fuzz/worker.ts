/** Runs targets in a thread of its own, so that whoever started it can tell a hang; reports each target when it is done. */
import { parentPort, workerData } from "node:worker_threads";
import { fuzzTarget } from "./run-targets.ts";
import { targets } from "./targets/index.ts";

export interface Order {
  readonly seed: number;
  readonly runs: number;
  readonly first: number;
  /** Empty for all. */
  readonly only: string;
  /** Two numbers: which target, and which of its runs. */
  readonly place: Int32Array;
}

const { seed, runs, first, only, place } = workerData as Order;
const all = await targets();
for (const [index, target] of all.entries()) {
  if (only !== "" && target.name !== only) continue;
  Atomics.store(place, 0, index);
  const progress = (run: number): void => void Atomics.store(place, 1, run);
  parentPort?.postMessage({ outcome: await fuzzTarget(target, { seed, runs, first, progress }) });
}
parentPort?.postMessage({ names: all.map(({ name }) => name), done: true });
