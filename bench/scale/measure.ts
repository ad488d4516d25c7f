/** A control plane, an API and a shape of fleet in; the figures of one run out. */
import { issueAll } from "./certificates.ts";
import { type Change, changes } from "./changes.ts";
import { type Driver, startDriver } from "./driver.ts";
import { type Figures, type PartFigures, readFigures, readParts } from "./figures.ts";
import { loadProxy, type Mode } from "./load-proxy.ts";
import type { MeshApi } from "./mesh-api.ts";
import type { ScenarioSize } from "./scenario.ts";
import type { Server } from "./server.ts";

export interface Fleet {
  readonly proxies: number;
  readonly deployments: number;
  readonly namespaces: number;
  readonly mode: Mode;
  readonly tls: boolean;
  readonly rampMs: number;
  readonly envoyVersion: string;
}

export interface ChangeRow {
  readonly change: string;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly lastMs: number | undefined;
  readonly cpuSeconds: number | undefined;
  readonly bytesPerProxy: number;
  readonly responses: number;
  readonly loopDelayMs: Figures["loopDelayMs"];
}

export interface Run {
  readonly server: string;
  readonly fleet: Fleet;
  readonly size: ScenarioSize;
  readonly warmMs: number;
  readonly warmCpuMsPerProxy: number | undefined;
  readonly warmBytesPerProxy: number;
  readonly warmLoopDelayMs: Figures["loopDelayMs"];
  /** Streams that ended before everything was over. */
  readonly cut: number;
  readonly residentMiB: number | undefined;
  readonly residentBeforeMiB: number | undefined;
  /** What the fleet added, for each of its classes and for each proxy. */
  readonly kibPerClass: number | undefined;
  readonly kibPerProxy: number | undefined;
  readonly classes: number | undefined;
  readonly memoryMiB: Figures["parts"];
  /** What is kept for the fleet, by recipe and by type. */
  readonly parts: PartFigures | undefined;
  readonly changes: readonly ChangeRow[];
}

const patienceMs = 300_000;

export async function measure(server: Server, api: MeshApi, size: ScenarioSize, fleet: Fleet): Promise<Run> {
  const before = await figuresOf(server);
  const driver = startDriver({ ...fleet, ...(await targetOf(server, api, fleet)) });
  try {
    const warmMs = await inTime(driver.warmMs, 3 * patienceMs, "the fleet to be warm");
    const warm = await driver.quiet();
    const after = await figuresOf(server);
    // Before the changes, and after what warming cost was read: looking costs too.
    const parts = server.monitoring && (await readParts(server.monitoring));
    const rows: ChangeRow[] = [];
    const context = { size, mode: fleet.mode, run: `${Math.floor(Date.now() / 1000) % 100_000}` };
    for (const change of changes(context)) {
      const row = await measureChange(change, server, api, driver, fleet);
      if (!change.silent) rows.push(row);
    }
    const added = after && before && after.residentMiB - before.residentMiB;
    return {
      server: server.name,
      fleet,
      size,
      warmMs,
      warmCpuMsPerProxy: after && before && ((after.cpuSeconds - before.cpuSeconds) * 1000) / fleet.proxies,
      warmBytesPerProxy: warm.bytes / fleet.proxies,
      warmLoopDelayMs: after?.loopDelayMs,
      cut: (await driver.counts()).cut,
      residentMiB: (await figuresOf(server))?.residentMiB,
      residentBeforeMiB: before?.residentMiB,
      kibPerClass: added && after.classes ? (added * 1024) / after.classes : undefined,
      kibPerProxy: added && (added * 1024) / fleet.proxies,
      classes: after?.classes,
      memoryMiB: after?.parts ?? {},
      parts,
      changes: rows,
    };
  } finally {
    driver.close();
  }
}

const figuresOf = async ({ monitoring }: Server): Promise<Figures | undefined> =>
  monitoring && (await readFigures(monitoring));

async function targetOf(server: Server, api: MeshApi, fleet: Fleet) {
  if (!fleet.tls) return { target: server.plain };
  if (!server.secure) throw new Error(`${server.name} has no TLS port: name it`);
  const proxies = Array.from({ length: fleet.proxies }, (_, index) => loadProxy(index, fleet));
  const { ca, byAccount } = await issueAll(await api.authority(), proxies);
  const tls = { ca, serverName: "istiod.istio-system.svc" };
  return { target: { ...server.secure, tls }, certificates: byAccount };
}

async function measureChange(
  change: Change,
  server: Server,
  api: MeshApi,
  driver: Driver,
  fleet: Fleet,
): Promise<ChangeRow> {
  const { needle, apply = [], remove = [] } = change;
  const concerned = change.reaches === "all" ? fleet.proxies : inFirstNamespace(fleet);
  const before = await figuresOf(server);
  const counted = await driver.counts();
  const seen = needle === undefined ? undefined : await driver.watch(needle, concerned);
  const began = performance.timeOrigin + performance.now();
  await api.apply(apply);
  await api.remove(remove);
  const at = seen && (await inTime(seen.at, patienceMs, `${change.name} to reach all`));
  // What shows nowhere has to be given the time to begin.
  if (!seen) await new Promise((resolve) => setTimeout(resolve, 1000));
  const after = await driver.quiet();
  const figures = await figuresOf(server);
  const taken = at?.map((moment) => moment - began);
  return {
    change: change.name,
    p50Ms: taken && quantile(taken, 0.5),
    p99Ms: taken && quantile(taken, 0.99),
    lastMs: taken?.at(-1),
    cpuSeconds: figures && before && figures.cpuSeconds - before.cpuSeconds,
    bytesPerProxy: (after.bytes - counted.bytes) / fleet.proxies,
    responses: after.responses - counted.responses,
    loopDelayMs: figures?.loopDelayMs,
  };
}

function inFirstNamespace(fleet: Fleet): number {
  return Array.from({ length: fleet.proxies }, (_, index) => loadProxy(index, fleet)).filter(
    ({ namespace }) => namespace === "ns-0",
  ).length;
}

const quantile = (sorted: readonly number[], part: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];

async function inTime<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`waited in vain for ${what}`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
