/** EnvoyFilters as they change in; for each the generations before that are known, the newest first, out. */
import type { Collection } from "../../collections/index.ts";
import type { Config, EnvoyFilterSpec } from "../../model/index.ts";

export type Filter = Config<EnvoyFilterSpec>;

/** What was before a generation: another, nothing, or it is not known as nobody looked. */
export type Before = Generation | "nothing" | "unknown";

export interface Generation {
  readonly filter: Filter;
  readonly before: Before;
}

export interface Generations {
  get(key: string): Generation | undefined;
  /** Told when one has changed, come or gone. */
  subscribe(listener: (key: string) => void): () => void;
}

/** Of one that changes all the time without ever being good, not all are kept. */
const maxDepth = 4;

export function createGenerations(filters: Collection<Filter>): Generations {
  const known = new Map<string, Generation>();
  const listeners = new Set<(key: string) => void>();
  for (const key of filters.keys()) {
    const filter = filters.get(key);
    if (filter) known.set(key, { filter, before: "unknown" });
  }
  filters.subscribe((key, now) => {
    const last = known.get(key);
    if (now) known.set(key, { filter: now, before: last ? cut(last, maxDepth) : "nothing" });
    else known.delete(key);
    for (const tell of listeners) tell(key);
  });
  return {
    get: (key) => known.get(key),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function cut({ filter, before }: Generation, depth: number): Before {
  if (depth === 0) return "unknown";
  return { filter, before: typeof before === "string" ? before : cut(before, depth - 1) };
}
