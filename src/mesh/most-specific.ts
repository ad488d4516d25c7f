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
  if (isWildcard(host) ? wildcards.includes(host) : exact(host)) return host;
  const needle = isWildcard(host) ? host.slice(1) : host;
  let best: string | undefined;
  for (const wildcard of wildcards) {
    if (!needle.endsWith(wildcard.slice(1))) continue;
    if (best === undefined || wildcard.length > best.length || (wildcard.length === best.length && wildcard < best))
      best = wildcard;
  }
  return best;
}
