/** Hosts of an object in; which of them cover a name, and which overlap, out: in a time that grows with their number. */
import { isWildcard } from "../../model/index.ts";

export interface HostIndex {
  /** The places of the hosts that stand for every name that `host` stands for. */
  covering(host: string): Iterable<number>;
}

export function indexHosts(hosts: readonly string[]): HostIndex {
  const places = (wildcards: boolean): ReadonlyMap<string, readonly number[]> =>
    Map.groupBy(
      [...hosts.keys()].filter((i) => isWildcard(hosts[i] ?? "") === wildcards),
      (i) => (wildcards ? (hosts[i] ?? "").slice(1) : (hosts[i] ?? "")),
    );
  const [plain, tails] = [places(false), places(true)];
  return {
    *covering(host) {
      yield* plain.get(host) ?? [];
      const name = isWildcard(host) ? host.slice(1) : host;
      for (let start = 0; start <= name.length; start++) yield* tails.get(name.slice(start)) ?? [];
    },
  };
}

/** Pairs of places, the first `limit` that are found, in the order of the list. */
export function overlappingHosts(hosts: readonly string[], limit: number): readonly (readonly [number, number])[] {
  const index = indexHosts(hosts);
  const found = new Set<number>();
  for (const [i, host] of hosts.entries())
    for (const other of index.covering(host)) {
      if (other !== i) found.add(Math.min(i, other) * hosts.length + Math.max(i, other));
      if (found.size === limit) return pairs(found, hosts.length);
    }
  return pairs(found, hosts.length);
}

const pairs = (found: ReadonlySet<number>, count: number): readonly (readonly [number, number])[] =>
  [...found].sort((a, b) => a - b).map((pair) => [Math.floor(pair / count), pair % count] as const);
