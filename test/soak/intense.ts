/**
 * A mesh and a count in; what is left in memory of so many writes that were all taken back, out. A leak shows in minutes
 * what a soak shows in hours: after a third of the writes every cache is full, and what grows afterwards is lost.
 */
import { wait } from "../../src/lib/index.ts";
import type { ChaosMesh } from "../chaos/mesh.ts";
import { objectsOf } from "./changes.ts";
import { dataBytes, readHeap } from "./heap.ts";
import type { SoakReport } from "./long.ts";
import { type Heaps, heapTables } from "./report.ts";
import { liveOfAll, snapshot, watchedProcesses, withSnapshots } from "./watched.ts";

const rounds = 6;
/** The first rounds fill what is bounded. */
const warmRounds = 2;
const workers = 6;
const settleMs = 5_000;
/** Left of one write, without the program itself. */
const limitBytes = 20;

export interface IntenseOptions {
  readonly writes: number;
  readonly snapshots: string;
  readonly say: (text: string) => void;
}

export async function writeAndDelete(mesh: ChaosMesh, options: IntenseOptions): Promise<SoakReport> {
  const { writes, snapshots, say } = options;
  const watched = await watchedProcesses(mesh);
  const takeHeaps = async () => {
    const files: string[] = [];
    for (const one of withSnapshots(watched)) files.push(await snapshot(mesh, one, snapshots));
    return files.map(readHeap);
  };
  let [done, warmWrites]: [number, number] = [0, 0];
  let heaps: Awaited<ReturnType<typeof takeHeaps>> = [];
  for (let round = 1; round <= rounds; round++) {
    done += await writeRound(mesh, Math.ceil(writes / rounds), round);
    await wait(settleMs);
    const live = await liveOfAll(watched);
    const sizes = watched.map(({ name }, i) => `${name} ${((live[i] ?? 0) / 1e6).toFixed(1)}`);
    say(`${done} writes; alive, MB: ${sizes.join(", ")}`);
    if (round === warmRounds) [heaps, warmWrites] = [await takeHeaps(), done];
  }
  const later = await takeHeaps();
  const compared = withSnapshots(watched).map(
    ({ name }, i): Heaps => ({ name, before: heaps[i] ?? new Map(), after: later[i] ?? new Map() }),
  );
  const left = compared.map(({ name, before, after }) => ({
    name,
    bytes: (dataBytes(after) - dataBytes(before)) / (done - warmWrites),
  }));
  const lines = left.map(({ name, bytes }) => `${name}: ${bytes.toFixed(1)} B`).join(", ");
  const wrong = left
    .filter(({ bytes }) => bytes > limitBytes)
    .map(({ name, bytes }) => `${bytes.toFixed(0)} B of each write stay in ${name}, more than ${limitBytes}`);
  const head = `${done} writes, half of them deletes; left of each of the last ${done - warmWrites}: ${lines}\n`;
  const verdict = wrong.length > 0 ? wrong.map((text) => `\nWRONG: ${text}`).join("") : "\nPASS\n";
  return { text: `${head}${heapTables(compared)}${verdict}`, wrong };
}

/** Makes and deletes objects; answers with how many writes that were. */
async function writeRound({ api }: ChaosMesh, writes: number, round: number): Promise<number> {
  let [next, done] = [0, 0];
  const work = async (): Promise<void> => {
    while (done < writes) {
      const i = next++;
      const objects = objectsOf(`soak-${i % 40}-${i % workers}`, i + round);
      for (const [kind, object] of objects) await api.create(kind, object).catch(() => {});
      for (const [kind, { metadata }] of objects) await api.delete(kind, metadata).catch(() => {});
      done += objects.length * 2;
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return done;
}
