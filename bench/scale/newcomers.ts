/**
 * A mesh that changes in; what comes of proxies of deployments that are new to it out: how long their streams wait for
 * their first response meanwhile, and what is kept for each of their classes.
 */
import { startDriver } from "./driver.ts";
import { figuresOf, type PartFigures, partsOf } from "./figures.ts";
import type { FleetTarget } from "./fleet.ts";
import type { WarmFleet } from "./measure-change.ts";
import { patiently } from "./patiently.ts";
import { type Spread, spreadOf } from "./spread.ts";

export interface Newcomers {
  readonly proxies: number;
  readonly firstResponseMs: Spread | undefined;
  /** Since the first of them connected. */
  readonly warmMs: number;
  /** Of a class alone: its own pieces of bytes, and, about, entries and look-ups. Streams are not in it. */
  readonly kibPerClass: { readonly encoded: number; readonly entries: number } | undefined;
}

const most = 10;
const betweenMs = 200;

/** Second versions of deployments that are there, a proxy of each. */
export async function measureNewcomers({ server, fleet }: WarmFleet, to: FleetTarget): Promise<Newcomers> {
  const proxies = Math.min(most, fleet.deployments || fleet.namespaces);
  const before = await keptOf(server);
  const driver = startDriver({
    ...fleet,
    ...to,
    proxies,
    version: "v2",
    from: firstNumber(fleet),
    rampMs: proxies * betweenMs,
  });
  try {
    const { tookMs, firstMs } = await patiently(driver.warm, "further proxies to be warm");
    const after = await keptOf(server);
    const classes = after && before && after.classes - before.classes;
    return {
      proxies,
      firstResponseMs: spreadOf(firstMs),
      warmMs: tookMs,
      kibPerClass: classes
        ? { encoded: (after.encoded - before.encoded) / classes, entries: (after.entries - before.entries) / classes }
        : undefined,
    };
  } finally {
    driver.close();
  }
}

/** Behind those of the fleet, and the first of its deployments. */
function firstNumber({ proxies, deployments, namespaces }: WarmFleet["fleet"]): number {
  const different = deployments || namespaces;
  return Math.ceil(proxies / different) * different;
}

async function keptOf(server: WarmFleet["server"]) {
  const parts = await partsOf(server);
  const classes = (await figuresOf(server))?.classes;
  return parts && classes !== undefined ? { ...sumsOf(parts), classes } : undefined;
}

/** In KiB. */
export function sumsOf({ recipes, encodedKiB }: PartFigures): { readonly encoded: number; readonly entries: number } {
  const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);
  return { encoded: sum(Object.values(encodedKiB)), entries: sum(recipes.map(({ kib }) => kib)) };
}
