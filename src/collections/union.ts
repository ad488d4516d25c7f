/** Several collections with keys of their own in, one that has the members of all out. */
import type { Collection } from "./collection.ts";

/** Keys must not repeat between the parts. Reads are recorded by the part that is read. */
export function unionOf<T>(name: string, parts: readonly Collection<T>[]): Collection<T> {
  return {
    name,
    rank: Math.max(0, ...parts.map((part) => part.rank)),
    get(key) {
      for (const part of parts) {
        const value = part.get(key);
        if (value !== undefined) return value;
      }
      return undefined;
    },
    keys: () => parts.flatMap((part) => part.keys()).sort(),
    get size() {
      return parts.reduce((sum, part) => sum + part.size, 0);
    },
    subscribe(listener) {
      const stops = parts.map((part) => part.subscribe(listener));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
