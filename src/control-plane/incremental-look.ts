/**
 * Connected proxies in; what of theirs differs from what a fresh start would give them out, at one version of the graph. What the
 * source gives is compared, and what streams that are in step were sent last.
 */
import type { Graph } from "../collections/index.ts";
import { createRest, wait } from "../lib/index.ts";
import type { Withheld } from "../mesh/index.ts";
import {
  bytesOf,
  envoyTypes,
  type Identity,
  type Resource,
  type ResourceSet,
  type ResourceType,
  types,
} from "../model/index.ts";
import type { ProxyNode, ProxyProgress, ProxySession, SentOfType } from "../xds/index.ts";
import type { ControlledSource } from "./source/resource-source.ts";

export interface LookOptions {
  readonly graph: Graph;
  readonly source: ControlledSource;
  /** A source made from the objects, and the kept generations of EnvoyFilters, that the graph has when it is called. */
  fresh(): Promise<ControlledSource>;
  /** How far the streams of connected proxies are; where absent, only what the source gives is compared. */
  readonly progress?: () => Iterable<ProxyProgress>;
  readonly signal: AbortSignal;
}

export interface IncrementalDifference {
  readonly node: string;
  readonly type: ResourceType;
  readonly name: string;
}

export interface Connected {
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  readonly session: ProxySession;
  /** By type that it has asked for, the names beyond its sets, such as all of a gRPC client's. */
  readonly asked: Map<ResourceType, Set<string>>;
  /** The version of the graph at which it was compared last. */
  lookedAt: number;
}

/** What a proxy has at one version of the graph. */
interface Given {
  readonly one: Connected;
  readonly withheld: Withheld | undefined;
  readonly sets: readonly (readonly [ResourceType, ResourceSet])[];
  readonly named: readonly (readonly [ResourceType, string, Resource | undefined])[];
  /** What its streams were sent last, of types in which they are in step. */
  readonly sent: readonly (readonly [ResourceType, SentOfType])[];
}

export interface Look {
  readonly differences: readonly IncrementalDifference[];
  /** Which version of the graph was looked at. */
  readonly version: number;
}

export const idOf = ({ node, type, name }: IncrementalDifference): string => `${node} ${type} ${name}`;

/** How long streams have to take what they are sent. */
const sendingMs = 200;

/** What proxies have, and the objects that a fresh start is made from, are of one version, whatever changes while they are compared. */
export async function look(
  options: LookOptions,
  chosen: readonly Connected[],
  isConnected: (one: Connected) => boolean,
): Promise<Look> {
  await settle(options, chosen);
  const streams = progressOf(options);
  const { version } = options.graph;
  const given = chosen.filter(isConnected).map((one) => givenTo(one, options.source, streams.get(one.node)));
  const expected = await options.fresh();
  const differences: IncrementalDifference[] = [];
  for (const one of given) differences.push(...(await compare(one, expected)));
  expected.close();
  return { version, differences: [...new Map(differences.map((one) => [idOf(one), one])).values()] };
}

/** Until all changes so far are made; streams that are sent them have a moment to take them. */
async function settle(options: LookOptions, chosen: readonly Connected[]): Promise<void> {
  await Promise.all(chosen.map(({ session }) => session.ready));
  await flush(options);
  const streams = progressOf(options);
  if (chosen.every(({ node }) => streams.get(node)?.isSettled() ?? true)) return;
  await wait(sendingMs, options.signal);
  await flush(options);
}

async function flush({ graph, source, signal }: LookOptions): Promise<void> {
  do {
    await source.flush();
    signal.throwIfAborted();
  } while (source.made !== graph.version);
}

const progressOf = ({ progress }: LookOptions): ReadonlyMap<ProxyNode, ProxyProgress> =>
  new Map([...(progress?.() ?? [])].map((one) => [one.node, one]));

function givenTo(one: Connected, source: ControlledSource, stream: ProxyProgress | undefined): Given {
  const { node, session, asked } = one;
  // Others, such as the name table, are made only for those who ask for them. Workloads come from a source in front of this one.
  const others = [...asked.keys()].filter((type) => type !== types.workload);
  const compared = [...new Set([...envoyTypes, ...others])];
  return {
    one,
    withheld: source.withheldFrom(node),
    sets: compared.map((type) => [type, session.all(type)]),
    named: [...asked].flatMap(([type, names]) =>
      [...names].map((name) => [type, name, session.get(type, name)] as const),
    ),
    sent: compared.flatMap((type) => {
      const sent = stream?.sent(type);
      return sent ? [[type, sent] as const] : [];
    }),
  };
}

async function compare(
  { one: { node, identity }, withheld, sets, named, sent }: Given,
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
  for (const [type, { isAll, resources }] of sent) {
    const set = session.all(type);
    for (const name of new Set([...resources.keys(), ...(isAll ? set.names() : [])])) {
      const wanted = isAll ? set.get(name) : session.get(type, name);
      if (resources.get(name)?.hash !== wanted?.hash) differences.push({ node: node.id, type, name });
      await rest();
    }
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
