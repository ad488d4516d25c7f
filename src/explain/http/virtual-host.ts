/** An authority and a route configuration in; the virtual host that serves it out, by Envoy's order of domains. */

import type { VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";

export interface HostFound {
  readonly host: VirtualHost;
  readonly domain: string;
  readonly lost: readonly string[];
}

/** Exact names, then `*.suffix` and `prefix.*`, the longest first, then `*`. */
export function findVirtualHost(config: RouteConfiguration, authority: string): HostFound | undefined {
  const name = hostName(config, authority);
  const fitting = config.virtualHosts.flatMap((host) =>
    host.domains
      .map((domain) => ({ host, domain, rank: rankOf(domain.toLowerCase(), name) }))
      .filter(({ rank }) => rank >= 0),
  );
  const [best, ...others] = fitting.sort((a, b) => b.rank - a.rank);
  if (!best) return undefined;
  const lost = others
    .filter(({ host }) => host !== best.host)
    .map(({ host, domain }) => `${host.name}: ${domain} is less specific`);
  return { host: best.host, domain: best.domain, lost: [...new Set(lost)] };
}

function hostName({ ignorePortInHostMatching }: RouteConfiguration, authority: string): string {
  const lower = authority.toLowerCase();
  return ignorePortInHostMatching ? lower.replace(/:\d+$/, "") : lower;
}

const kinds = 100_000;

/** Of two that fit, the one with the higher rank wins; below 0 for one that does not fit. */
function rankOf(domain: string, name: string): number {
  if (domain === "*") return 0;
  if (domain === name) return 3 * kinds;
  if (domain.startsWith("*"))
    return name.endsWith(domain.slice(1)) && name.length >= domain.length ? 2 * kinds + domain.length : -1;
  if (domain.endsWith("*"))
    return name.startsWith(domain.slice(0, -1)) && name.length >= domain.length ? kinds + domain.length : -1;
  return -1;
}
