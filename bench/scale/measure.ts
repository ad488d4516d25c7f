/** A control plane, an API and a shape of fleet in; the figures of one run out. */
import { changes } from "./changes.ts";
import { startDriver } from "./driver.ts";
import { type Figures, figuresOf, type Memory, type PartFigures, partsOf } from "./figures.ts";
import { type Fleet, targetOf } from "./fleet.ts";
import { type ChangeRow, measureChange, type WarmFleet } from "./measure-change.ts";
import type { MeshApi } from "./mesh-api.ts";
import { measureNewcomers, type Newcomers } from "./newcomers.ts";
import { patiently } from "./patiently.ts";
import type { ScenarioSize } from "./scenario.ts";
import type { Server } from "./server.ts";
import { type Spread, spreadOf } from "./spread.ts";
import { changeSteadily } from "./steady.ts";

export interface Run {
  readonly server: string;
  readonly fleet: Fleet;
  readonly size: ScenarioSize;
  readonly warmMs: number;
  readonly warmCpuMsPerProxy: number | undefined;
  readonly warmBytesPerProxy: number;
  readonly warmLoopDelayMs: Figures["loopDelayMs"];
  /** From the connect of each stream on. */
  readonly firstResponseMs: Spread | undefined;
  /** Streams that ended before everything was over. */
  readonly cut: number;
  readonly memory: Memories | undefined;
  /** All that the fleet added when it was warm, shared parts, classes, streams and garbage, for each proxy. */
  readonly addedKibPerProxy: number | undefined;
  readonly classes: number | undefined;
  /** What is kept for the fleet, by recipe and by type. */
  readonly parts: PartFigures | undefined;
  readonly changes: readonly ChangeRow[];
  readonly steady: Steady;
  readonly newcomers: Newcomers;
}

interface Memories {
  readonly before: Memory;
  readonly warm: Memory;
  /** After the changes of the table. */
  readonly changed: Memory;
}

/** A route that changes again and again. */
interface Steady {
  /** Until the last proxy had a change. */
  readonly lastMs: Spread | undefined;
  readonly cpuSecondsPerChange: number | undefined;
  readonly loopDelayMs: Figures["loopDelayMs"];
}

export interface Pace {
  /** For so long a route changes again and again. */
  readonly steadyMs: number;
  readonly quietMs: number;
}

const warmPatienceMs = 900_000;

export async function measure(
  server: Server,
  api: MeshApi,
  size: ScenarioSize,
  fleet: Fleet,
  { steadyMs, quietMs }: Pace,
): Promise<Run> {
  const before = await figuresOf(server);
  const to = await targetOf(server, api, fleet);
  const driver = startDriver({ ...fleet, ...to });
  const all: WarmFleet = { server, api, driver, fleet, quietMs };
  try {
    const { tookMs, firstMs } = await patiently(driver.warm, "the fleet to be warm", warmPatienceMs);
    const counted = await driver.quiet(quietMs);
    const warm = await figuresOf(server);
    // Before the changes, and after what warming cost was read: looking costs too.
    const parts = await partsOf(server);
    const run = `${Math.floor(Date.now() / 1000) % 100_000}`;
    const rows: ChangeRow[] = [];
    for (const change of changes({ size, mode: fleet.mode, run })) {
      const row = await measureChange(change, all);
      if (!change.silent) rows.push(row);
    }
    const changed = await figuresOf(server);
    const steadily = { api, driver, size, proxies: fleet.proxies, run };
    const steady = await measureSteady(all, (isOver) => changeSteadily(steadily, isOver), steadyMs);
    const newcomers = await whileChanging(
      (isOver) => changeSteadily({ ...steadily, run: `${run}-again` }, isOver),
      () => measureNewcomers(all, to),
    );
    return {
      ...{ server: server.name, fleet, size },
      warmMs: tookMs,
      warmCpuMsPerProxy: warm && before && ((warm.cpuSeconds - before.cpuSeconds) * 1000) / fleet.proxies,
      warmBytesPerProxy: counted.bytes / fleet.proxies,
      warmLoopDelayMs: warm?.loopDelayMs,
      firstResponseMs: spreadOf(firstMs),
      cut: (await driver.counts()).cut,
      memory: before &&
        warm &&
        changed && { before: memoryOf(before), warm: memoryOf(warm), changed: memoryOf(changed) },
      addedKibPerProxy: warm && before && ((warm.residentMiB - before.residentMiB) * 1024) / fleet.proxies,
      classes: warm?.classes,
      ...{ parts, changes: rows, steady, newcomers },
    };
  } finally {
    driver.close();
  }
}

const memoryOf = ({ residentMiB, parts }: Figures): Memory => ({ residentMiB, parts });

type Changing = (isOver: () => boolean) => Promise<readonly number[]>;

async function measureSteady({ server }: WarmFleet, change: Changing, forMs: number): Promise<Steady> {
  const before = await figuresOf(server);
  const endMs = performance.now() + forMs;
  const tookMs = await change(() => performance.now() >= endMs);
  const after = await figuresOf(server);
  return {
    lastMs: spreadOf(tookMs),
    cpuSecondsPerChange: after && before && (after.cpuSeconds - before.cpuSeconds) / tookMs.length,
    loopDelayMs: after?.loopDelayMs,
  };
}

async function whileChanging<T>(change: Changing, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const changing = change(() => isOver);
  const end = (): void => {
    isOver = true;
  };
  const [done] = await Promise.all([work().finally(end), changing]);
  return done;
}
