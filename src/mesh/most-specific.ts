/** A host and the hosts that rules are written for in, the most specific one that covers it out. */
import { isWildcard } from "../model/index.ts";

/**
 * An equal host first, then the longest wildcard whose tail the host has. A wildcard host is only covered by wildcards.
 */
export function mostSpecific(
  host: string,
  exact: (host: string) => boolean,
  wildcards: readonly string[],
): string | undefined {
  if (!isWildcard(host)) return exact(host) ? host : longestWildcard(host, wildcards);
  return indexed(wildcards).known.has(host) ? host : longestWildcard(host.slice(1), wildcards);
}

/** Of these wildcards the longest whose tail the name has. */
export function longestWildcard(name: string, wildcards: readonly string[]): string | undefined {
  const { known, lengths } = indexed(wildcards);
  for (const length of lengths) {
    const wildcard = `*${name.slice(Math.max(0, name.length - length))}`;
    if (wildcard.length === length + 1 && known.has(wildcard)) return wildcard;
  }
  return undefined;
}

interface Indexed {
  readonly known: { has(wildcard: string): boolean };
  /** Of their tails, the longest first. */
  readonly lengths: readonly number[];
}

/** A namespace may have thousands, and each of thousands of services is looked for; most have a few, which are not kept. */
const few = 16;
const indexes = new WeakMap<readonly string[], Indexed>();

function indexed(wildcards: readonly string[]): Indexed {
  const found = indexes.get(wildcards);
  if (found) return found;
  const lengths = [...new Set(wildcards.map(({ length }) => length - 1))].sort((a, b) => b - a);
  if (wildcards.length <= few) return { known: { has: (wildcard) => wildcards.includes(wildcard) }, lengths };
  const made = { known: new Set(wildcards), lengths };
  indexes.set(wildcards, made);
  return made;
}
