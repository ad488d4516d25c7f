/** A warm fleet in; a route that changes again and again out, with how long each change took to be everywhere. */

import type { Driver } from "./driver.ts";
import type { MeshApi } from "./mesh-api.ts";
import { patiently } from "./patiently.ts";
import { type ScenarioSize, virtualService } from "./scenario.ts";

export interface SteadyOptions {
  readonly api: MeshApi;
  readonly driver: Driver;
  readonly size: ScenarioSize;
  readonly proxies: number;
  /** Different for each run on one API. */
  readonly run: string;
}

/** Between the beginnings of two changes, where the first is everywhere by then. */
const everyMs = 500;

/** One after the other until `isOver` says so; the routes are left as they were. */
export async function changeSteadily(options: SteadyOptions, isOver: () => boolean): Promise<readonly number[]> {
  const { api, driver, size, proxies, run } = options;
  const routes = Math.max(1, size.routed);
  const tookMs: number[] = [];
  for (let count = 0; !isOver(); count++) {
    const route = `x-bench-steady-${run}-${count}-`;
    const seen = await driver.watch(route, proxies);
    const began = performance.timeOrigin + performance.now();
    await api.apply([virtualService(count % routes, size, route)]);
    const at = await patiently(seen.at, "a route that changes again and again");
    const took = (at.at(-1) ?? began) - began;
    tookMs.push(took);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, everyMs - took)));
  }
  await api.apply(Array.from({ length: Math.min(tookMs.length, routes) }, (_, i) => virtualService(i, size)));
  return tookMs;
}
