/** `hosts` of a Sidecar's egress listener in, which services and VirtualServices they import out. */
import { hostCovers, hostsOverlap, isWildcard } from "../model/index.ts";

const anyNamespace = "*";

interface HostSet {
  readonly exact: ReadonlySet<string>;
  readonly wildcards: readonly string[];
  readonly excluded: readonly string[];
}

export interface EgressHosts {
  /** Namespace and host of each import, where none is a wildcard; undefined otherwise. */
  readonly exact: readonly (readonly [string, string])[] | undefined;
  importsService(namespace: string, host: string): boolean;
  /** The set that imports the service imports its alias too. */
  importsAlias(namespace: string, host: string, alias: string): boolean;
  importsVirtualService(namespace: string, hosts: readonly string[], gatewayApi: boolean): boolean;
}

export function parseEgressHosts(hosts: readonly string[], ownNamespace: string): EgressHosts {
  const sets = new Map<string, { exact: Set<string>; wildcards: string[]; excluded: string[] }>();
  const exact: (readonly [string, string])[] = [];
  let allExact = true;
  for (const entry of hosts) {
    const [prefix = "", host, more] = entry.split("/");
    if (host === undefined || more !== undefined) continue;
    const { namespace, isExcluded } = namespaceOf(prefix, ownNamespace);
    const set = sets.get(namespace) ?? { exact: new Set<string>(), wildcards: [], excluded: [] };
    sets.set(namespace, set);
    if (isExcluded) set.excluded.push(host);
    else if (isWildcard(host)) set.wildcards.push(host);
    else set.exact.add(host);
    if (isExcluded) continue;
    if (isWildcard(host) || namespace === anyNamespace) allExact = false;
    else exact.push([namespace, host]);
  }
  return createHosts(sets, allExact ? exact : undefined);
}

function namespaceOf(prefix: string, own: string): { readonly namespace: string; readonly isExcluded: boolean } {
  const isExcluded = prefix.startsWith("~");
  const name = isExcluded ? prefix.slice(1) : prefix;
  if (isExcluded && name === "") return { namespace: anyNamespace, isExcluded };
  return { namespace: name === "." ? own : name, isExcluded };
}

function createHosts(sets: ReadonlyMap<string, HostSet>, exact: EgressHosts["exact"]): EgressHosts {
  const setsFor = (namespace: string): readonly HostSet[] =>
    [sets.get(namespace), sets.get(anyNamespace)].filter((set) => set !== undefined);
  const isExcluded = (namespace: string, host: string): boolean =>
    setsFor(namespace).some((set) => set.excluded.some((excluded) => hostCovers(excluded, host)));
  const matches = (set: HostSet, host: string): boolean =>
    set.exact.has(host) || set.wildcards.some((wildcard) => hostCovers(wildcard, host));
  // Before the Gateway API a VirtualService for `*.com` was imported by a listener that names `a.com`.
  const matchesLoosely = (set: HostSet, host: string): boolean =>
    matches(set, host) ||
    set.wildcards.some((wildcard) => hostsOverlap(wildcard, host)) ||
    (isWildcard(host) && [...set.exact].some((name) => hostsOverlap(host, name)));
  return {
    exact,
    importsService: (namespace, host) =>
      !isExcluded(namespace, host) && setsFor(namespace).some((set) => matches(set, host)),
    importsAlias(namespace, host, alias) {
      const set = setsFor(namespace).find((candidate) => matches(candidate, host));
      return set !== undefined && matches(set, alias);
    },
    importsVirtualService: (namespace, hosts, gatewayApi) =>
      hosts.some(
        (host) =>
          !isExcluded(namespace, host) &&
          setsFor(namespace).some((set) => (gatewayApi ? matches(set, host) : matchesLoosely(set, host))),
      ),
  };
}
