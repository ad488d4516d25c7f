/**
 * `npm run soak`: minutes in; how memory, file descriptors and streams of a mesh of twelve workloads went meanwhile, out:
 * a slope per process over all but the first fifth, and what there is more of in the heaps. Resident memory has much in it
 * that nobody uses; of API and control plane it is known what is alive, and that is what must not grow.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { printTable } from "../../src/cli/table.ts";
import { wait } from "../../src/lib/index.ts";
import { type ChaosMesh, startChaosMesh, twelve } from "../chaos/mesh.ts";
import { startChanges } from "./changes.ts";
import { heapGrowth, readHeapCounts } from "./heap.ts";
import { liveBytes } from "./live.ts";
import { usageOf } from "./processes.ts";
import { floorOf, type Point, slopeOf } from "./slope.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "120" },
    limit: { type: "string", default: "200" },
    output: { type: "string", short: "o", default: "table" },
  },
});
const minutes = Number(values.minutes);
const sampleMs = 5_000;
/** How often the two that hold the most are asked what is alive in them. */
const liveMs = 180_000;
/** Long enough for a few collections of garbage. */
const windowSeconds = 60;
const say = (text: string): boolean => process.stderr.write(`${text}\n`);

const snapshots = join(process.cwd(), ".cache/soak", String(process.pid));
mkdirSync(snapshots, { recursive: true });
const mesh = await startChaosMesh({
  apps: twelve,
  pauseMs: 50,
  say,
  nodeOptions: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${snapshots}`,
});
const report = await soak().finally(() => mesh.close());
process.stdout.write(values.output === "json" ? `${JSON.stringify(report, null, 2)}\n` : tableOf(report));
process.exitCode = report.wrong.length === 0 ? 0 : 1;

interface Watched {
  readonly name: string;
  readonly pid: number;
}

/** The agents of those servers that nobody kills. */
async function watchedProcesses(of: ChaosMesh): Promise<readonly Watched[]> {
  const agents = await Promise.all(
    ["web-1", "api-1", "brief-1", "client"].map(async (name) => ({
      name: `agent of ${name}`,
      pid: of.pids(await of.pod(name), "agent")[0] ?? 0,
    })),
  );
  return [
    { name: "up (the API)", pid: of.supervisor.pid() },
    { name: "control plane", pid: of.supervisor.controlPlanePid() },
    { name: "edge", pid: of.supervisor.edgePid() },
    ...agents,
  ];
}

async function streams(of: ChaosMesh): Promise<number> {
  const listed: unknown = await (await fetch(`http://${of.supervisor.addresses().monitoring}/debug/syncz`)).json();
  return Array.isArray(listed) ? listed.length : 0;
}

async function snapshot(pid: number): Promise<string> {
  const known = new Set(readdirSync(snapshots));
  process.kill(pid, "SIGUSR2");
  for (;;) {
    await wait(1_000);
    const fresh = readdirSync(snapshots).find((name) => !known.has(name));
    // Written while the process waits: once it answers again, the file is whole.
    if (fresh !== undefined && (await mesh.missing()).length === 0) return join(snapshots, fresh);
  }
}

async function soak() {
  const watched = await watchedProcesses(mesh);
  const before = { streams: await streams(mesh), fds: watched.map(({ pid }) => usageOf(pid)?.fds ?? 0) };
  const changes = startChanges(mesh);
  const points = watched.map((): Point[] => []);
  const live = watched.map((): Point[] => []);
  const started = performance.now();
  const [warmSeconds, seconds] = [minutes * 12, minutes * 60];
  let heaps: readonly string[] = [];
  let nextLive = warmSeconds;
  await mesh.load.drain();
  for (;;) {
    const now = (performance.now() - started) / 1000;
    if (now > seconds) break;
    if (now > warmSeconds && heaps.length === 0) heaps = await snapshotBoth(watched);
    for (const [i, { pid }] of watched.entries()) {
      const usage = usageOf(pid);
      if (usage && now > warmSeconds) points[i]?.push({ seconds: now, value: usage.bytes });
    }
    if (now > nextLive) {
      nextLive = now + liveMs / 1000;
      for (const [i, { pid }] of watched.slice(0, 2).entries()) {
        const value = await liveBytes(pid);
        if (value !== undefined) live[i]?.push({ seconds: now, value });
      }
    }
    if (Math.floor(now) % 60 < sampleMs / 1000) tell(watched, now, changes.count());
    await mesh.load.look();
    await wait(sampleMs);
  }
  await changes.stop();
  const load = await mesh.load.drain();
  await wait(20_000);
  const after = { streams: await streams(mesh), fds: watched.map(({ pid }) => usageOf(pid)?.fds ?? 0) };
  const laterHeaps = await snapshotBoth(watched);
  const rows = watched.map(({ name }, i) => ({
    name,
    firstMb: megabytes(points[i]?.at(0)),
    lastMb: megabytes(points[i]?.at(-1)),
    slope: slopeOf(floorOf(points[i] ?? [], windowSeconds)),
    liveMb: [megabytes(live[i]?.at(0)), megabytes(live[i]?.at(-1))] as const,
    liveSlope: slopeOf(live[i] ?? []),
    fds: [before.fds[i] ?? 0, after.fds[i] ?? 0] as const,
  }));
  const limit = Number(values.limit);
  return {
    minutes,
    changes: changes.count(),
    requests: load.requests,
    failures: load.failures.slice(0, 20),
    streams: [before.streams, after.streams] as const,
    rows,
    heaps: ["up (the API)", "control plane"].map((name, i) => ({
      name,
      growth: heapGrowth(readHeapCounts(heaps[i] ?? ""), readHeapCounts(laterHeaps[i] ?? "")).slice(0, 15),
    })),
    wrong: [
      ...rows
        .map(({ name, slope, liveMb: [first], liveSlope }) => ({ name, grows: first > 0 ? liveSlope : slope }))
        .filter(({ grows }) => grows > limit)
        .map(({ name, grows }) => `${name} grows by ${grows.toFixed(0)} B/s`),
      ...(before.streams === after.streams ? [] : [`${after.streams} streams instead of ${before.streams}`]),
      ...(load.failures.length === 0 ? [] : [`${load.failures.length} requests failed`]),
    ],
  };
}

async function snapshotBoth(watched: readonly Watched[]): Promise<readonly string[]> {
  const files: string[] = [];
  for (const { pid } of watched.slice(0, 2)) files.push(await snapshot(pid));
  return files;
}

function megabytes(point: Point | undefined): number {
  return Math.round((point?.value ?? 0) / 1024 / 102.4) / 10;
}

function tell(watched: readonly Watched[], now: number, changes: number): void {
  const sizes = watched.map(({ name, pid }) => `${name} ${megabytes({ seconds: 0, value: usageOf(pid)?.bytes ?? 0 })}`);
  say(`${(now / 60).toFixed(0)} min, ${changes} changes; MB: ${sizes.join(", ")}`);
}

function tableOf(of: Awaited<ReturnType<typeof soak>>): string {
  const table = printTable(
    ["PROCESS", "RESIDENT MB", "SLOPE B/s", "LIVE MB", "SLOPE B/s", "FDS BEFORE", "FDS AFTER"],
    of.rows.map(({ name, firstMb, lastMb, slope, liveMb, liveSlope, fds }) => [
      name,
      `${firstMb} → ${lastMb}`,
      slope.toFixed(0),
      ...(liveMb[0] > 0 ? [liveMb.join(" → "), liveSlope.toFixed(0)] : ["", ""]),
      ...fds.map(String),
    ]),
  );
  const heaps = of.heaps.map(({ name, growth }) => {
    const lines = growth.map((one) => [one.name, String(one.before), String(one.after)]);
    return `\nMore objects in ${name}:\n${printTable(["CONSTRUCTOR", "BEFORE", "AFTER"], lines)}`;
  });
  const head = `${of.minutes} minutes, ${of.changes} rounds of changes, ${of.requests} requests, ${of.failures.length} failed, streams ${of.streams.join(" → ")}\n\n`;
  return `${head}${table}${heaps.join("")}${of.wrong.map((text) => `\nWRONG: ${text}`).join("")}\n`;
}
