/**
 * Proxies that are likely to come in; what they share with others of their namespace, and mostly with all, made and kept for
 * as long as nobody is connected out. A fleet comes when objects have been applied, after a restart, or when its network is
 * back, all at once: it finds what it shares, instead of waiting for it.
 */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../lib/index.ts";
import type { Proxy } from "../model/index.ts";
import type { Expected } from "./source/looks.ts";
import type { ControlledSource } from "./source/resource-source.ts";

/** What of the runtime depends on who is connected. */
export interface FleetRuntime {
  /** Whether a fleet may come at any moment, or is coming: nearly all that is allocated then is kept. */
  expect(isExpected: boolean): void;
  /** Much was made that nobody needs any longer, and nobody is served. */
  collect(): void;
}

export interface RenderAheadOptions {
  readonly proxies: () => Iterable<Proxy>;
  readonly resources: Pick<ControlledSource, "ahead" | "nodes">;
  /** Another number with each change of what is rendered from. */
  readonly version: () => number;
  readonly runtime?: FleetRuntime | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly times?: Partial<AheadTimes>;
}

interface AheadTimes {
  /** For so long who wants to connect after a start is kept waiting. The rest goes on until somebody comes: they say what they need. */
  readonly waitMs: number;
  /** How often it is looked who has come, and whether anything has changed; what has changed since the last look is not at rest. */
  readonly lookMs: number;
  /** Who was connected comes back within this time, and holds what it shares from then on. */
  readonly holdMs: number;
  /** A fleet has come when nobody of it has for so long. */
  readonly comingMs: number;
}

const usual: AheadTimes = { waitMs: 1500, lookMs: 1000, holdMs: 120_000, comingMs: 60_000 };

/** Of more than these, what they share with all is made too, and their own when they come. */
const maxNamespaces = 1000;
/** So many in one look are a fleet. */
const fleet = 10;
/** Of all time, what goes into proxies that may never come is no more than one part of so many. */
const share = 20;

/** Resolves when all is made for the first time, or time is up; goes on until the signal. */
export async function renderAhead(options: RenderAheadOptions): Promise<void> {
  const times = { ...usual, ...options.times };
  options.runtime?.expect(true);
  const first = makeAll(options);
  follow(options, times, first).catch((error: unknown) =>
    options.log.error("nothing is rendered ahead any longer", { cause: String(error) }),
  );
  const timeUp = Promise.withResolvers<void>();
  const waiting = setTimeout(timeUp.resolve, times.waitMs);
  await Promise.race([first, timeUp.promise]);
  clearTimeout(waiting);
}

/** What was made for those that may come. */
interface Ahead {
  readonly made: readonly Expected[];
  /** What they were made from; no version where some of them are still to be made. */
  readonly version: number | undefined;
}

async function follow(options: RenderAheadOptions, times: AheadTimes, first: Promise<Ahead>): Promise<void> {
  const { resources, version, runtime, signal } = options;
  let ahead = await first;
  let [nodes, comeMs, seen, dueMs] = [0, performance.now(), ahead.version, performance.now()];
  let isExpected = true;
  while (await isAfter(times.lookMs, signal)) {
    const nowMs = performance.now();
    const before = nodes;
    nodes = resources.nodes;
    if (nodes === 0 || nodes - before >= fleet) comeMs = nowMs;
    if (isExpected !== nowMs - comeMs < times.comingMs) {
      isExpected = !isExpected;
      runtime?.expect(isExpected);
    }
    if (nodes > 0) {
      if (nowMs - comeMs >= times.holdMs) ahead = await letGo(ahead);
      continue;
    }
    const last = seen;
    seen = version();
    if (seen !== last || seen === ahead.version || nowMs < dueMs) continue;
    const next = await makeAll(options);
    // Only now: what both have stays.
    await letGo(ahead);
    ahead = next;
    if (resources.nodes === 0) runtime?.collect();
    const endMs = performance.now();
    dueMs = endMs + (endMs - nowMs) * share;
  }
  await letGo(ahead);
}

async function makeAll({ proxies, resources, version, log, signal }: RenderAheadOptions): Promise<Ahead> {
  const [from, startedMs] = [version(), performance.now()];
  const made: Expected[] = [];
  let isWhole = true;
  for (const proxy of proxies()) {
    if (made.length >= maxNamespaces) break;
    isWhole = !signal.aborted && resources.nodes === 0;
    if (!isWhole) break;
    try {
      made.push(await resources.ahead(proxy));
    } catch (error) {
      // Whoever connects is told of it then.
      log.debug("not rendered ahead", { namespace: proxy.namespace, cause: String(error) });
    }
  }
  log.debug("rendered ahead", { namespaces: made.length, ms: Math.round(performance.now() - startedMs) });
  return { made, version: isWhole ? from : undefined };
}

const nothing: Ahead = { made: [], version: undefined };

/** One at a time: hundreds of namespaces that go in one turn would be a long one. */
async function letGo({ made }: Ahead): Promise<Ahead> {
  for (const expected of made) {
    expected.dispose();
    await nextTurn();
  }
  return nothing;
}

/** False where it is stopped before. */
const isAfter = (ms: number, signal: AbortSignal): Promise<boolean> =>
  pause(ms, true, { signal, ref: false }).catch(() => false);
