/** One input member becomes any number of keyed outputs, kept up to date as the input and everything else it read changes. */
import type { Computation } from "./cells.ts";
import type { Collection } from "./collection.ts";
import { createKeyed } from "./keyed.ts";
import type { Recorder } from "./recorder.ts";

export type OnFault = (what: string, error: unknown) => void;

export interface DerivedOptions<I, O> {
  readonly name: string;
  /** Only sets of a lower rank are up to date when this one is brought up to date. */
  readonly rank: number;
  readonly from: Collection<I>;
  readonly compute: (value: I, key: string) => Iterable<readonly [string, O]>;
  readonly equals: (a: O, b: O) => boolean;
}

export interface Derived<O> {
  readonly collection: Collection<O>;
  /** Brings the members that are due up to date. */
  flush(): void;
  /** A member that is due, be it again: once all sets are up to date there must be none. */
  due(): string | undefined;
  /** How much is kept. */
  entries(): number;
}

export function createDerived<I, O>(
  recorder: Recorder,
  onFault: OnFault,
  { name, rank, from, compute, equals }: DerivedOptions<I, O>,
): Derived<O> {
  const behind = (key: string): Computation[] =>
    [...(claims.get(key)?.keys() ?? [])].flatMap((input) => entries.get(input) ?? []);
  const out = createKeyed<O>(recorder, name, undefined, { rank, behind });
  /** Output key -> the input keys that claim it, in order of their names; the first has it. */
  const claims = new Map<string, Map<string, O>>();
  const entries = new Map<string, Computation & { outputs: Map<string, O> }>();
  const dirty = new Set<string>();
  const settle = (key: string): void => {
    const claim = claims.get(key);
    const first = claim && [...claim.keys()].sort()[0];
    const value = first === undefined ? undefined : claim?.get(first);
    const before = out.members.get(key);
    if (value === before || (value !== undefined && before !== undefined && equals(before, value))) return;
    out.put(key, value);
  };
  const assign = (inputKey: string, before: Map<string, O>, now: Map<string, O>): void => {
    for (const key of before.keys()) {
      if (now.has(key)) continue;
      const claim = claims.get(key);
      claim?.delete(inputKey);
      if (claim?.size === 0) claims.delete(key);
    }
    for (const [key, value] of now) {
      let claim = claims.get(key);
      if (!claim) {
        claim = new Map();
        claims.set(key, claim);
      }
      claim.set(inputKey, value);
    }
    for (const key of new Set([...before.keys(), ...now.keys()])) settle(key);
  };
  const flush = (): void => {
    for (const key of dirty) {
      const entry: Computation & { outputs: Map<string, O> } = entries.get(key) ?? {
        state: "stale",
        running: false,
        rank: 0,
        reads: [],
        notes: undefined,
        outputs: new Map(),
        made: () => [...entry.outputs.keys()].flatMap((output) => out.cells.get(output) ?? []),
        invalidated: () => dirty.add(key),
      };
      entries.set(key, entry);
      if (!recorder.outdated(entry)) continue;
      const before = entry.outputs;
      entry.outputs = recorder.run(entry, () => {
        const value = from.get(key);
        try {
          return value === undefined ? new Map() : new Map(compute(value, key));
        } catch (error) {
          // One member that cannot be derived costs nobody else: what it gave last stays until it changes.
          onFault(`${name}/${key}`, error);
          return before;
        }
      });
      if (entry.rank >= rank) {
        // As it was, so that it is tried again, and stopped again, with each change.
        entry.outputs = before;
        entry.state = "stale";
        throw new Error(`${name}/${key} reads a set that is derived after ${name}`);
      }
      assign(key, before, entry.outputs);
      if (entry.outputs.size === 0 && from.get(key) === undefined) {
        recorder.forget(entry);
        entries.delete(key);
      }
    }
    dirty.clear();
  };
  for (const key of from.keys()) dirty.add(key);
  from.subscribe((key) => {
    dirty.add(key);
  });
  flush();
  return {
    collection: out.collection,
    flush,
    due: () => dirty.values().next().value,
    entries: () => out.cells.size + claims.size + entries.size,
  };
}
