import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Memory } from "./figures.ts";
import { sayGrid } from "./grid.ts";
import type { Run } from "./measure.ts";
import type { Spread } from "./spread.ts";

const flags = {
  ...{ proxies: "5", deployments: "2", namespaces: "2" },
  ...{ services: "20", endpoints: "2", routed: "5", "ramp-ms": "200" },
};
let folder: string;
let said: string;
let runs: readonly Run[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairlead-bench-test-"));
  const json = join(folder, "runs.json");
  const args = Object.entries({ ...flags, json }).flatMap(([flag, value]) => [`--${flag}`, value]);
  const program = [join(import.meta.dirname, "main.ts"), "--quick", "--tls", ...args];
  const env = { ...process.env, NODE_NO_WARNINGS: "1" };
  said = (await promisify(execFile)(process.execPath, program, { env })).stdout;
  runs = JSON.parse(await readFile(json, "utf8")) as readonly Run[];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const between = (least: number, most: number) => ({
  asymmetricMatch: (value: unknown) => typeof value === "number" && value >= least && value <= most,
});

/** How long things take is the machine's. */
const anyTime = {
  asymmetricMatch: (value: unknown) => typeof value === "number" && value >= 0 && Number.isFinite(value),
};

function expectSpread(of: Spread | undefined): void {
  expect(of).toEqual({ p50: anyTime, p99: anyTime, max: anyTime, samples: between(1, 1e4) });
  expect([of?.p50, of?.p99, of?.max]).toEqual([of?.p50, of?.p99, of?.max].toSorted((a = 0, b = 0) => a - b));
}

test("a fleet is warm, and its figures are all there", () => {
  expect(runs).toHaveLength(1);
  const [run] = runs;
  expect(run).toMatchObject({
    server: "fairlead",
    fleet: { proxies: 5, deployments: 2, namespaces: 2, mode: "delta", tls: true },
    size: { services: 20, endpoints: 2, namespaces: 2, routed: 5 },
    warmMs: anyTime,
    warmCpuMsPerProxy: anyTime,
    warmBytesPerProxy: between(20_000, 1e6),
    ...{ cut: 0, classes: 2, addedKibPerProxy: between(-50_000, 50_000) },
  });
  for (const spread of [run?.firstResponseMs, run?.warmLoopDelayMs]) expectSpread(spread);
  expect(run?.firstResponseMs?.samples).toBe(5);
});

test("memory is told with its parts of the same moment, and what is kept by recipe and type", () => {
  const { memory, parts } = runs[0] ?? {};
  const told = {
    residentMiB: between(50, 1000),
    parts: expect.objectContaining({ heapUsed: between(10, 500), external: between(0.1, 500) }),
  };
  expect(memory).toEqual({ before: told, warm: told, changed: told });
  for (const { residentMiB, parts: of } of Object.values<Memory>(memory ?? {}))
    expect(of["heapUsed"]).toBeLessThan(residentMiB);
  for (const type of ["Cluster", "ClusterLoadAssignment", "Listener", "RouteConfiguration"])
    expect(parts?.encodedKiB).toHaveProperty(type, between(1, 1000));
  expect(parts?.recipes.find(({ recipe }) => recipe === "Cluster")).toEqual({
    ...{ recipe: "Cluster", entries: between(20, 200), lookups: between(20, 2000), kib: between(5, 500) },
  });
});

test("each change has a row of figures", () => {
  const rows = runs[0]?.changes ?? [];
  const single = ["one VirtualService", "one endpoint", "one endpoint", "one endpoint", "one Service added"];
  const others = ["one Service removed", "5 VirtualServices", "one DestinationRule", "a namespace's Sidecar"];
  expect(rows.map(({ change }) => change)).toEqual([...single, ...others, "MeshConfig"]);
  for (const row of rows) {
    const { p50Ms = -1, p99Ms = -1, lastMs = -1 } = row;
    expect([p50Ms, p99Ms, lastMs], row.change).toEqual([p50Ms, p99Ms, lastMs].toSorted((a, b) => a - b));
    expect(row).toMatchObject({
      ...{ p50Ms: anyTime, cpuSeconds: anyTime, responses: between(2, 100) },
      bytesPerProxy: between(100, 100_000),
    });
    expectSpread(row.loopDelayMs);
  }
});

test("a route that changes again and again, and proxies that come meanwhile, are measured", () => {
  const { steady, newcomers } = runs[0] ?? {};
  for (const spread of [steady?.lastMs, steady?.loopDelayMs, newcomers?.firstResponseMs]) expectSpread(spread);
  expect(steady?.cpuSecondsPerChange).toEqual(anyTime);
  expect(newcomers).toMatchObject({
    proxies: 2,
    kibPerClass: { encoded: between(0.1, 200), entries: between(0.5, 500) },
  });
});

test("all of it is printed", () => {
  expect(said).toMatch(/^fairlead: 5 proxies of 2 deployments in 2 namespaces, 20 services, delta, TLS$/m);
  for (const line of ["before the fleet", "after the changes", "Cluster", "one VirtualService", "MeshConfig"])
    expect(said).toMatch(new RegExp(`^ {2}${line} +\\d`, "m"));
  expect(said).not.toMatch(/NaN|undefined/);
});

test("several runs are one table, too", () => {
  const [head = "", , ...rows] = sayGrid([...runs, ...runs]).split("\n");
  const cells = rows.map((row) => row.split(" | ").length);
  expect(cells).toEqual([head.split(" | ").length, head.split(" | ").length]);
  expect(rows[0]).toMatch(/^\| 5 \| 2 \| 2 \| fairlead delta TLS \| \d+\.\d; \d+ \| \d+ \|/);
  // A burst of so few has another name.
  expect(rows[0]?.split(" | ").filter((cell) => cell === "-")).toHaveLength(1);
  expect(rows[0]).not.toMatch(/NaN|undefined/);
});
