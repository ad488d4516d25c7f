/**
 * A source of resources in; the same source out, with what it gives to some of its proxies compared, after each change,
 * with what a fresh start would give them. For tests and for finding faults of ours: it costs a start each time.
 */
import type { Graph } from "../collections/index.ts";
import { createRest, type Logger, wait } from "../lib/index.ts";
import type { Withheld } from "../mesh/index.ts";
import {
  bytesOf,
  envoyTypes,
  type Identity,
  type Resource,
  type ResourceSet,
  type ResourceType,
} from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { ProxyNode, ProxySession, ResourceSource } from "../xds/index.ts";
import type { ControlledSource } from "./source/resource-source.ts";

interface IncrementalDifference {
  readonly node: string;
  readonly type: ResourceType;
  readonly name: string;
}

interface IncrementalCheckOptions {
  readonly graph: Graph;
  readonly source: ControlledSource;
  /** A source made just now from the objects, and the kept generations of EnvoyFilters, that the graph has now. */
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
  /** By type that it has asked for, the names beyond its sets, such as all of a gRPC client's. */
  readonly asked: Map<ResourceType, Set<string>>;
}

/** What a proxy has at one version of the graph. */
interface Given {
  readonly one: Connected;
  readonly withheld: Withheld | undefined;
  readonly sets: readonly (readonly [ResourceType, ResourceSet])[];
  readonly named: readonly (readonly [ResourceType, string, Resource | undefined])[];
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
      const one: Connected = { node, identity, session, asked: new Map() };
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
  const given = chosen.filter(isConnected).map((one) => givenTo(one, source));
  const expected = await fresh();
  const differences: IncrementalDifference[] = [];
  for (const one of given) differences.push(...(await compare(one, expected)));
  expected.close();
  return graph.version === version ? differences : undefined;
}

function givenTo(one: Connected, source: ControlledSource): Given {
  const { node, session, asked } = one;
  // Others, such as the name table, are made only for those who ask for them.
  const compared = new Set([...envoyTypes, ...asked.keys()]);
  return {
    one,
    withheld: source.withheldFrom(node),
    sets: [...compared].map((type) => [type, session.all(type)]),
    named: [...asked].flatMap(([type, names]) =>
      [...names].map((name) => [type, name, session.get(type, name)] as const),
    ),
  };
}

async function compare(
  { one: { node, identity }, withheld, sets, named }: Given,
  expected: ControlledSource,
): Promise<readonly IncrementalDifference[]> {
  const session = expected.connect(node, identity, () => {});
  await session.ready;
  if (withheld) {
    expected.withhold(node, withheld);
    await expected.flush();
  }
  const differences: IncrementalDifference[] = [];
  for (const [type, live] of sets)
    differences.push(...differing(live, session.all(type)).map((name) => ({ node: node.id, type, name })));
  const rest = createRest();
  for (const [type, name, live] of named) {
    if (!isSame(live, session.get(type, name))) differences.push({ node: node.id, type, name });
    await rest();
  }
  session.close();
  return differences;
}

function differing(live: ResourceSet, fresh: ResourceSet): readonly string[] {
  const names = new Set([...live.names(), ...fresh.names()]);
  return [...names].filter((name) => !isSame(live.get(name), fresh.get(name)));
}

function isSame(live: Resource | undefined, fresh: Resource | undefined): boolean {
  if (!live || !fresh) return live === fresh;
  return live.hash === fresh.hash && sameNeeds(live, fresh) && Buffer.compare(bytesOf(live), bytesOf(fresh)) === 0;
}

const sameNeeds = (live: Resource, fresh: Resource): boolean =>
  new Set(live.needs).symmetricDifference(new Set(fresh.needs)).size === 0;
