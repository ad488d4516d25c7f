/** A warm fleet and a change in; until when each proxy has it, and what that cost, out. */
import type { Change } from "./changes.ts";
import type { Driver } from "./driver.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { type Fleet, proxiesOf } from "./fleet.ts";
import type { MeshApi } from "./mesh-api.ts";
import { patiently } from "./patiently.ts";
import type { Server } from "./server.ts";
import { spreadOf } from "./spread.ts";

export interface ChangeRow {
  readonly change: string;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly lastMs: number | undefined;
  readonly cpuSeconds: number | undefined;
  readonly bytesPerProxy: number;
  readonly responses: number;
  /** Of so short a time there are few looks: only the worst says something. */
  readonly loopDelayMs: Figures["loopDelayMs"];
}

export interface WarmFleet {
  readonly server: Server;
  readonly api: MeshApi;
  readonly driver: Driver;
  readonly fleet: Fleet;
  /** After so long without a response a change is over. */
  readonly quietMs: number;
}

/** What shows nowhere has to be given the time to begin, beside that in which nothing may come. */
const beginMs = 300;

export async function measureChange(
  change: Change,
  { server, api, driver, fleet, quietMs }: WarmFleet,
): Promise<ChangeRow> {
  const { needle, apply = [], remove = [] } = change;
  const concerned = change.reaches === "all" ? fleet.proxies : inFirstNamespace(fleet);
  const before = await figuresOf(server);
  const counted = await driver.counts();
  const seen = needle === undefined ? undefined : await driver.watch(needle, concerned);
  const began = performance.timeOrigin + performance.now();
  await api.apply(apply);
  await api.remove(remove);
  const at = seen && (await patiently(seen.at, `${change.name} to reach all`));
  if (!seen) await new Promise((resolve) => setTimeout(resolve, beginMs + quietMs));
  const after = await driver.quiet(quietMs);
  const figures = await figuresOf(server);
  const taken = at && spreadOf(at.map((moment) => moment - began));
  return {
    change: change.name,
    p50Ms: taken?.p50,
    p99Ms: taken?.p99,
    lastMs: taken?.max,
    cpuSeconds: figures && before && figures.cpuSeconds - before.cpuSeconds,
    bytesPerProxy: (after.bytes - counted.bytes) / fleet.proxies,
    responses: after.responses - counted.responses,
    loopDelayMs: figures?.loopDelayMs,
  };
}

const inFirstNamespace = (fleet: Fleet): number =>
  proxiesOf(fleet).filter(({ namespace }) => namespace === "ns-0").length;
