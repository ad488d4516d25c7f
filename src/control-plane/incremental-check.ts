/**
 * A source of resources in; the same source out, with what it gives to its proxies, and what their streams were sent last, compared
 * after each change with what a fresh start would give them. For tests and for finding faults of ours: it costs a start for every
 * few proxies.
 */
import { type Logger, wait } from "../lib/index.ts";
import type { ResourceType } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { ResourceSource } from "../xds/index.ts";
import {
  type Connected,
  type IncrementalDifference,
  idOf,
  type Look,
  type LookOptions,
  look,
} from "./incremental-look.ts";

interface IncrementalCheckOptions extends LookOptions {
  /** So many proxies are looked at together, the others after them; 20 where absent. */
  readonly sample?: number;
  /** How long a change may be on its way (types that are loaded, keys that are fetched) before it counts as missed; 1000 where absent. */
  readonly secondLookMs?: number;
  /** Told with each comparison, and with what was different each time that it was looked at. */
  readonly onChecked: (differences: readonly IncrementalDifference[]) => void;
  readonly onFault: (error: unknown) => void;
}

export interface IncrementalCheck extends ResourceSource {
  /** Looks at all that are connected and were not looked at since the last change; resolves when none of them is left. */
  look(): Promise<void>;
}

const pauseMs = 200;
/** In a mesh that changes all the time, what differs in each of so many further looks is not on its way. */
const moreLooks = 5;

/** How the outcome is told: by name, never by content, which may be secret. */
export function incrementalReports(
  metrics: Metrics,
  log: Logger,
): Pick<IncrementalCheckOptions, "onChecked" | "onFault"> {
  return {
    onChecked(differences) {
      metrics.count("fairlead_incremental_checks");
      for (const { node, type, name } of differences) {
        metrics.count("fairlead_incremental_differences");
        log.error("what a proxy has differs from what a fresh start would give it", { node, type, name });
      }
    },
    onFault: (error) => log.error("the comparison with a fresh start has ended", { cause: String(error) }),
  };
}

export function createIncrementalCheck(options: IncrementalCheckOptions): IncrementalCheck {
  const { source, signal } = options;
  const connected = new Set<Connected>();
  let turn: Promise<unknown> = Promise.resolve();
  /** One comparison after the other. */
  const next = (): Promise<boolean> => {
    const mine = turn.then(() => lookOn(options, connected));
    turn = mine.catch(() => {});
    return mine;
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await wait(pauseMs, signal);
      await next();
    }
  };
  run().catch((error: unknown) => {
    if (!signal.aborted) options.onFault(error);
  });
  return {
    connect(node, identity, changed) {
      const session = source.connect(node, identity, changed);
      const one: Connected = { node, identity, session, asked: new Map(), lookedAt: -1 };
      connected.add(one);
      const namesOf = (type: ResourceType): Set<string> => {
        const names = one.asked.get(type) ?? new Set();
        one.asked.set(type, names);
        return names;
      };
      return {
        ready: session.ready,
        all(type) {
          namesOf(type);
          return session.all(type);
        },
        get(type, name) {
          if (!session.all(type).get(name)) namesOf(type).add(name);
          return session.get(type, name);
        },
        forget(type, name) {
          if (name === undefined) one.asked.delete(type);
          else one.asked.get(type)?.delete(name);
          session.forget(type, name);
        },
        close() {
          connected.delete(one);
          session.close();
        },
      };
    },
    async look() {
      while (await next());
    },
  };
}

/** Compares what the next proxies have; false where all were looked at since the last change. */
async function lookOn(options: IncrementalCheckOptions, connected: Set<Connected>): Promise<boolean> {
  const { version } = options.graph;
  const waiting = [...connected].filter(({ lookedAt }) => lookedAt !== version);
  const chosen = waiting.slice(0, options.sample ?? 20);
  if (chosen.length === 0) return false;
  const found = await lookAgain(options, chosen, (one) => connected.has(one));
  for (const one of chosen) {
    one.lookedAt = found.version;
    // Those that were looked at go to the end: in a mesh that changes all the time each has its turn.
    if (connected.delete(one)) connected.add(one);
  }
  options.onChecked(found.differences);
  return true;
}

/** What differs each time, at the last of them without a change of the graph meanwhile. */
async function lookAgain(
  options: IncrementalCheckOptions,
  chosen: readonly Connected[],
  isConnected: (one: Connected) => boolean,
): Promise<Look> {
  let found = await look(options, chosen, isConnected);
  if (found.differences.length > 0) await wait(options.secondLookMs ?? 1000, options.signal);
  for (let left = moreLooks; left > 0 && found.differences.length > 0; left--) {
    const before = new Set(found.differences.map(idOf));
    const { version, differences } = await look(options, chosen, isConnected);
    found = { version, differences: differences.filter((one) => before.has(idOf(one))) };
    if (options.graph.version === version) break;
  }
  return found;
}
