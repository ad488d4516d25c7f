/** A mesh and minutes in; how memory, file descriptors and streams went meanwhile, once it was warm, out. */
import { wait } from "../../src/lib/index.ts";
import type { ChaosMesh } from "../chaos/mesh.ts";
import { startChanges } from "./changes.ts";
import { readHeap } from "./heap.ts";
import { usageOf } from "./processes.ts";
import { type Heaps, heapTables, type ProcessRow, processTable, wrongGrowth, wrongLines } from "./report.ts";
import { floorOf, type Point } from "./slope.ts";
import { liveOfAll, snapshot, type Watched, watchedProcesses, withSnapshots } from "./watched.ts";

export interface LongOptions {
  readonly minutes: number;
  /** In bytes a second. */
  readonly limit: number;
  /** Between two rounds of changes. */
  readonly stepMs: number;
  readonly snapshots: string;
  readonly say: (text: string) => void;
}

const sampleMs = 5_000;
/** How often each is asked what is alive in it, which takes all of them some ten seconds; a short run has its samples too. */
const liveSeconds = (minutes: number): number => Math.min(180, Math.max(30, minutes * 4));
/** Long enough for a few collections of garbage. */
const windowSeconds = 60;
/** What closes slowly has closed, and the last access logs are written. */
const settleMs = 20_000;

/** A fifth; and until what is kept for a time, the API's past of five minutes, is full, where there is time for that. */
const warmSeconds = (minutes: number): number => Math.max(minutes * 12, Math.min(400, minutes * 30));

export interface SoakReport {
  readonly text: string;
  readonly wrong: readonly string[];
}

export async function soak(mesh: ChaosMesh, options: LongOptions): Promise<SoakReport> {
  const { minutes, limit, snapshots, say } = options;
  const watched = await watchedProcesses(mesh);
  const fdsNow = (): readonly number[] => watched.map(({ pid }) => usageOf(pid)?.fds ?? 0);
  const before = { streams: await streams(mesh), fds: fdsNow() };
  const takeHeaps = async (): Promise<readonly string[]> => {
    const files: string[] = [];
    for (const one of withSnapshots(watched)) files.push(await snapshot(mesh, one, snapshots));
    return files;
  };
  await mesh.load.drain();
  const changes = startChanges(mesh, options.stepMs);
  const samples = await sample(mesh, watched, { minutes, takeHeaps, say, changes: changes.count });
  await changes.stop();
  const load = await mesh.load.drain();
  await wait(settleMs);
  const after = { streams: await streams(mesh), fds: fdsNow() };
  const laterHeaps = await takeHeaps();
  const rows = watched.map(
    ({ name }, i): ProcessRow => ({
      name,
      resident: floorOf(samples.resident[i] ?? [], windowSeconds),
      live: samples.live[i] ?? [],
      fds: [before.fds[i] ?? 0, after.fds[i] ?? 0],
    }),
  );
  const heaps = withSnapshots(watched).map(
    ({ name }, i): Heaps => ({
      name,
      before: readHeap(samples.heaps[i] ?? ""),
      after: readHeap(laterHeaps[i] ?? ""),
    }),
  );
  const failures = load.failures.map(({ stream, status, text }) => `${stream}: ${status} ${text}`);
  const wrong = [
    ...rows.flatMap((row) => wrongGrowth(row, limit)),
    ...(before.streams === after.streams ? [] : [`${after.streams} streams instead of ${before.streams}`]),
    ...(failures.length === 0 ? [] : [`${failures.length} requests failed, among them ${failures[0]}`]),
  ];
  const head = [
    `${minutes} minutes, the first ${(warmSeconds(minutes) / 60).toFixed(0)} of them to warm up; ${changes.count()} rounds of changes`,
    `${load.requests} requests, ${failures.length} failed; streams ${before.streams} → ${after.streams}`,
  ].join("; ");
  return { text: `${head}\n\n${processTable(rows, limit)}${heapTables(heaps)}${wrongLines(wrong, limit)}\n`, wrong };
}

interface Samples {
  readonly resident: readonly (readonly Point[])[];
  readonly live: readonly (readonly Point[])[];
  /** Taken when it was warm. */
  readonly heaps: readonly string[];
}

interface SampleOptions extends Pick<LongOptions, "minutes" | "say"> {
  readonly takeHeaps: () => Promise<readonly string[]>;
  readonly changes: () => number;
}

async function sample(mesh: ChaosMesh, watched: readonly Watched[], options: SampleOptions): Promise<Samples> {
  const [resident, live] = [watched.map((): Point[] => []), watched.map((): Point[] => [])];
  const started = performance.now();
  const nowSeconds = (): number => (performance.now() - started) / 1000;
  const [warm, end] = [warmSeconds(options.minutes), options.minutes * 60];
  while (nowSeconds() < warm) {
    await mesh.load.look();
    await wait(sampleMs);
  }
  const heaps = await options.takeHeaps();
  for (let nextLive = warm; nowSeconds() < end; ) {
    const seconds = nowSeconds();
    for (const [i, { pid }] of watched.entries())
      resident[i]?.push({ seconds, value: usageOf(pid)?.bytes ?? Number.NaN });
    if (seconds >= nextLive) {
      nextLive = seconds + liveSeconds(options.minutes);
      const values = await liveOfAll(watched);
      for (const [i, value] of values.entries()) if (value !== undefined) live[i]?.push({ seconds, value });
      const sizes = watched.map(({ name }, i) => `${name} ${((values[i] ?? 0) / 1e6).toFixed(1)}`);
      options.say(`${(seconds / 60).toFixed(1)} min, ${options.changes()} changes; alive, MB: ${sizes.join(", ")}`);
    }
    await mesh.load.look();
    await wait(sampleMs);
  }
  return { resident, live, heaps };
}

async function streams(of: ChaosMesh): Promise<number> {
  const listed: unknown = await (await fetch(`http://${of.supervisor.addresses().monitoring}/debug/syncz`)).json();
  return Array.isArray(listed) ? listed.length : 0;
}
