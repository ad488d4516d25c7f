/**
 * A source of resources in; the same source out, with what it gives to some of its proxies compared, after each change,
 * with what a fresh start would give them. For tests and for finding faults of ours: it costs a start each time.
 */
import type { Graph } from "../collections/index.ts";
import { type Logger, wait } from "../lib/index.ts";
import { bytesOf, envoyTypes, type Identity, type ResourceSet, type ResourceType } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { ProxyNode, ProxySession, ResourceSource } from "../xds/index.ts";
import type { ControlledSource } from "./resource-source.ts";

interface IncrementalDifference {
  readonly node: string;
  readonly type: ResourceType;
  readonly name: string;
}

interface IncrementalCheckOptions {
  readonly graph: Graph;
  readonly source: ControlledSource;
  /** A source made just now from the objects that the graph has now. */
  fresh(): Promise<ControlledSource>;
  /** At most so many proxies are looked at after a change, the others at later ones; 20 where absent. */
  readonly sample?: number;
  /** Told with each comparison, and with what was different at a second look too. */
  readonly onChecked: (differences: readonly IncrementalDifference[]) => void;
  readonly onFault: (error: unknown) => void;
  readonly signal: AbortSignal;
}

interface Connected {
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  readonly session: ProxySession;
}

/** How long a change may be on its way (types that are loaded, keys that are fetched) before it counts as missed. */
const secondLookMs = 1000;
const pauseMs = 200;

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

export function createIncrementalCheck(options: IncrementalCheckOptions): ResourceSource {
  const connected = new Set<Connected>();
  run(options, connected).catch((error: unknown) => {
    if (!options.signal.aborted) options.onFault(error);
  });
  return {
    connect(node, identity, changed) {
      const session = options.source.connect(node, identity, changed);
      const one: Connected = { node, identity, session };
      connected.add(one);
      return {
        ...session,
        get ready() {
          return session.ready;
        },
        close() {
          connected.delete(one);
          session.close();
        },
      };
    },
  };
}

async function run(options: IncrementalCheckOptions, connected: Set<Connected>): Promise<void> {
  const { graph, signal } = options;
  let seen = -1;
  for (;;) {
    await wait(pauseMs, signal);
    const { version } = graph;
    if (version === seen || connected.size === 0) continue;
    const looked = await lookTwice(options, inTurn(connected, options.sample ?? 20), (one) => connected.has(one));
    if (!looked) continue;
    seen = version;
    options.onChecked(looked);
  }
}

/** Those that were looked at go to the end. */
function inTurn(connected: Set<Connected>, count: number): readonly Connected[] {
  const chosen = [...connected].slice(0, count);
  for (const one of chosen) {
    connected.delete(one);
    connected.add(one);
  }
  return chosen;
}

/** What differs both times; undefined where that cannot be said, as the graph changed meanwhile. */
async function lookTwice(
  options: IncrementalCheckOptions,
  chosen: readonly Connected[],
  isConnected: (one: Connected) => boolean,
): Promise<readonly IncrementalDifference[] | undefined> {
  const first = await look(options, chosen, isConnected);
  if (!first || first.length === 0) return first;
  await wait(secondLookMs, options.signal);
  const before = new Set(first.map(idOf));
  return (await look(options, chosen, isConnected))?.filter((one) => before.has(idOf(one)));
}

const idOf = ({ node, type, name }: IncrementalDifference): string => `${node} ${type} ${name}`;

/** Undefined where the graph changed meanwhile: what is compared belongs to one version of it. */
async function look(
  { graph, source, fresh }: IncrementalCheckOptions,
  chosen: readonly Connected[],
  isConnected: (one: Connected) => boolean,
): Promise<readonly IncrementalDifference[] | undefined> {
  const { version } = graph;
  await source.flush();
  if (graph.version !== version) return undefined;
  const there = chosen.filter(isConnected);
  const given = there.map(({ session }) => envoyTypes.map((type) => [type, session.all(type)] as const));
  const expected = await fresh();
  const differences: IncrementalDifference[] = [];
  for (const [index, { node, identity }] of there.entries()) {
    const session = expected.connect(node, identity, () => {});
    await session.ready;
    for (const [type, live] of given[index] ?? [])
      differences.push(...differing(live, session.all(type)).map((name) => ({ node: node.id, type, name })));
    session.close();
  }
  expected.close();
  return graph.version === version ? differences : undefined;
}

function differing(live: ResourceSet, fresh: ResourceSet): readonly string[] {
  const names = new Set([...live.entries(), ...fresh.entries()].map(([name]) => name));
  return [...names].filter((name) => {
    const [held, wanted] = [live.get(name), fresh.get(name)];
    return !held || !wanted || Buffer.compare(bytesOf(held), bytesOf(wanted)) !== 0;
  });
}
