/** `hosts` of a Sidecar's egress listener in, which services and VirtualServices they import out. */
import { hostCovers, hostsOverlap, isWildcard } from "../model/index.ts";

const anyNamespace = "*";

interface HostSet {
  readonly exact: ReadonlySet<string>;
  readonly wildcards: readonly string[];
  readonly excluded: readonly string[];
}

export interface EgressHosts {
  /** Namespace and host of each import, where none is a wildcard and they are not too many; undefined otherwise. */
  readonly exact: readonly (readonly [string, string])[] | undefined;
  importsService(namespace: string, host: string): boolean;
  /** The set that imports the service imports its alias too. */
  importsAlias(namespace: string, host: string, alias: string): boolean;
  importsVirtualService(namespace: string, hosts: readonly string[], gatewayApi: boolean): boolean;
}

/** One by one no more than these are looked up, and each look-up recorded; with more all services are gone through. */
const maxExact = 4_096;

interface Building {
  readonly namespace: string;
  readonly isExcluded: boolean;
  readonly set: { readonly exact: Set<string>; readonly wildcards: string[]; readonly excluded: string[] };
}

export function parseEgressHosts(hosts: readonly string[], ownNamespace: string): EgressHosts {
  const sets = new Map<string, Building["set"]>();
  const byPrefix = new Map<string, Building>();
  const buildingFor = (prefix: string): Building => {
    const { namespace, isExcluded } = namespaceOf(prefix, ownNamespace);
    const set = sets.get(namespace) ?? { exact: new Set<string>(), wildcards: [], excluded: [] };
    sets.set(namespace, set);
    const made = { namespace, isExcluded, set };
    byPrefix.set(prefix, made);
    return made;
  };
  const exact: (readonly [string, string])[] = [];
  let allExact = true;
  for (const entry of hosts) {
    const at = entry.indexOf("/");
    if (at < 0 || entry.includes("/", at + 1)) continue;
    const [prefix, host] = [entry.slice(0, at), entry.slice(at + 1)];
    const { namespace, isExcluded, set } = byPrefix.get(prefix) ?? buildingFor(prefix);
    if (isExcluded) set.excluded.push(host);
    else if (isWildcard(host)) set.wildcards.push(host);
    else set.exact.add(host);
    if (isExcluded || !allExact) continue;
    if (isWildcard(host) || namespace === anyNamespace || exact.length === maxExact) allExact = false;
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
