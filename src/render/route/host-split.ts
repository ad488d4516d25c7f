/** The hosts of a VirtualService and the services of a place in; which services they stand for, and which name none, out. */
import { hostsOverlap, isWildcard } from "../../model/index.ts";
import type { PlaceServices } from "./egress.ts";
import type { RouteSemantics } from "./semantics.ts";

export interface HostSplit {
  /** Hosts (lower case) of services that the VirtualService routes. */
  readonly services: readonly string[];
  /** Hosts without a service, as virtual hosts of their own. */
  readonly others: readonly string[];
}

/** `ownerOf` tells which VirtualService has the most specific host for a service: a wildcard takes only those left over. */
export function splitHosts(
  config: { readonly key: string; readonly hosts: readonly string[]; readonly semantics: RouteSemantics },
  services: PlaceServices,
  ownerOf: (host: string) => string | undefined,
): HostSplit {
  const exact = config.hosts.filter((host) => !isWildcard(host));
  const wild = config.hosts.filter(isWildcard).map((host) => host.toLowerCase());
  const found = exact.map((host) => host.toLowerCase()).filter((host) => services.get(host) !== undefined);
  const others = exact.filter((host) => services.get(host.toLowerCase()) === undefined);
  // The Gateway API has no such reach: there a wildcard is only a name.
  if (config.semantics === "gateway-api") return { services: found, others: [...others, ...wild] };
  for (const wildcard of wild) {
    const covered = [...services.entries()].map(([host]) => host).filter((host) => hostsOverlap(host, wildcard));
    found.push(...covered.filter((host) => ownerOf(host) === config.key));
    if (covered.length === 0) others.push(wildcard);
  }
  return { services: found, others };
}
