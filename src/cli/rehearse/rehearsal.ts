/** A mesh rendered here and a running istiod in; what is different for which proxies out. */

import {
  comparedTypes,
  compareStates,
  type ProxyChoice,
  type State,
  type StateChange,
  type States,
} from "../../control-plane/index.ts";
import type { Difference, Sent } from "../../explain/index.ts";
import { digest } from "../../lib/index.ts";
import {
  createResourceSet,
  type Proxy,
  type Resource,
  type ResourceSet,
  type ResourceType,
  types,
} from "../../model/index.ts";
import type { Canonical } from "./canonical.ts";
import type { Istiod, KnownProxy, TheirResources } from "./istiod.ts";
import { withOurKeys } from "./key-sets.ts";

export interface Rehearsal {
  readonly proxies: readonly string[];
  /** `before` is istiod's, `after` ours. */
  readonly change: StateChange;
  /** All that was compared, each once however many proxies have it. */
  readonly resources: number;
  /** Listeners with keys that istiod fetched. */
  readonly fetchedKeys: number;
  /** What a compared set was made from. */
  sentOf(proxy: string): Sent | undefined;
}

export interface RehearseOptions {
  readonly states: States;
  readonly istiods: readonly Istiod[];
  readonly choice: ProxyChoice;
  readonly canonical: Canonical;
  wants(proxy: Proxy): boolean;
  onAsked(done: number, all: number): void;
}

/** Asked at the same time: istiod makes each answer anew, and has others to serve. */
const concurrency = 4;

const nameOf = ({ name, namespace }: Proxy): string => `${name}.${namespace}`;

export async function rehearse(options: RehearseOptions): Promise<Rehearsal> {
  const { states, canonical, choice, wants } = options;
  const lists: KnownProxy[] = [];
  for (const istiod of options.istiods) lists.push(...(await istiod.proxies(states.offline)));
  // One that has moved from one istiod to another is with both for a moment.
  const known = [...new Map(lists.map((one) => [nameOf(one.proxy), one])).values()].filter(({ proxy }) => wants(proxy));
  const theirs = await askAll(known, canonical, options.onAsked);
  const rendered = states.take(
    choice,
    // What istiod says of a proxy may be something else the next time.
    known.map(({ proxy }) => ({ key: JSON.stringify(proxy), proxy: () => proxy })),
  );
  const ours = canonicalState(rendered, canonical);
  const { change, fetchedKeys } = withoutFetchedKeys(compareStates(theirs.state, ours), canonical);
  return {
    proxies: known.map(({ proxy }) => nameOf(proxy)),
    change,
    resources: theirs.resources,
    fetchedKeys,
    sentOf: (proxy) => rendered.get(proxy),
  };
}

async function askAll(
  known: readonly KnownProxy[],
  canonical: Canonical,
  onAsked: (done: number, all: number) => void,
): Promise<{ readonly state: State; readonly resources: number }> {
  const state = new Map<string, Sent>();
  const byContent = new Map<string, Sent>();
  const seen = new Set<string>();
  const queue = [...known];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { sent, key } = theirSent(await next.resources(), canonical, seen);
      const same = byContent.get(key) ?? sent;
      byContent.set(key, same);
      state.set(nameOf(next.proxy), same);
      onAsked(state.size, known.length);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { state, resources: seen.size };
}

/** Proxies that are sent the same have the same object, as ours have. */
function theirSent(
  resources: TheirResources,
  canonical: Canonical,
  seen: Set<string>,
): { readonly sent: Sent; readonly key: string } {
  const keys: string[] = [];
  const sets = new Map<ResourceType, ResourceSet>();
  for (const type of comparedTypes) {
    const layer = new Map(
      (resources.get(type) ?? []).map(({ name, bytes }) => [name, canonical.theirs(type, name, bytes)]),
    );
    for (const [name, { hash }] of layer) keys.push(`${type} ${name} ${hash}`);
    sets.set(type, createResourceSet([layer]));
  }
  for (const key of keys) seen.add(key);
  return { sent: sentOf(sets), key: digest(Buffer.from(keys.sort().join("\n"))) };
}

function canonicalState(state: State, canonical: Canonical): State {
  const made = new Map<Sent, Sent>();
  const asCanonical = (sent: Sent): Sent => {
    const sets = comparedTypes.map((type): [ResourceType, ResourceSet] => [
      type,
      createResourceSet([
        new Map(
          sent
            .set(type)
            .entries()
            .map(([name, resource]) => [name, canonical.ours(type, resource)]),
        ),
      ]),
    ]);
    return sentOf(new Map(sets));
  };
  return new Map(
    [...state].map(([name, sent]) => {
      const found = made.get(sent) ?? asCanonical(sent);
      made.set(sent, found);
      return [name, found];
    }),
  );
}

const empty = createResourceSet([]);

const sentOf = (sets: ReadonlyMap<ResourceType, ResourceSet>): Sent => ({ set: (type) => sets.get(type) ?? empty });

/** Keys that only istiod could fetch are no difference; what else differs in such a listener is. */
function withoutFetchedKeys(
  change: StateChange,
  canonical: Canonical,
): { readonly change: StateChange; readonly fetchedKeys: number } {
  const known = new Map<string, Resource | undefined>();
  const without = (one: Difference): Difference => {
    const { type, name, before, after } = one;
    if (type !== types.listener || !before || !after) return one;
    const key = `${before.hash} ${after.hash}`;
    if (!known.has(key)) {
      const json = withOurKeys(canonical.json(type, before), canonical.json(type, after));
      known.set(key, json === undefined ? undefined : canonical.fromJson(type, name, json));
    }
    return { ...one, before: known.get(key) ?? before };
  };
  const groups = change.groups
    .map((group) => ({
      ...group,
      differences: group.differences.map(without).filter(({ before, after }) => before?.hash !== after?.hash),
    }))
    .filter(({ differences }) => differences.length > 0);
  return { change: { ...change, groups }, fetchedKeys: [...known.values()].filter((one) => one !== undefined).length };
}
