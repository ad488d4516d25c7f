/** The name of a service's cluster, which names its routes too, in; its virtual hosts, and no other service's, out. */
import { create } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { type ClientFacet, hostCovers, isWildcard, types } from "../../model/index.ts";
import { clientFacet } from "../facets.ts";
import { parseClusterName } from "../outbound/cluster-name.ts";
import { recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import { assembleRoutes, hostList } from "../route/assembly.ts";
import type { PlannedHost } from "../route/host-plan.ts";
import { hostsFor, virtualHost } from "../route/outbound.ts";
import type { View } from "../view.ts";

/** The first word of the key is the name. */
export const grpcRoute = resourceRecipe(clientFacet, types.route, (view, key) => {
  const [name = ""] = wordsOf(key);
  const parsed = parseClusterName(name);
  if (parsed?.mode !== "outbound") return undefined;
  const hosts = hostsNamed(view, parsed.host.toLowerCase(), parsed.port);
  const shell = create(RouteConfigurationSchema, { name });
  return assembleRoutes(name, hostList(hosts.map((host) => virtualHost(view, host.key))), { shell });
});

interface PortHosts {
  readonly exact: ReadonlyMap<string, readonly PlannedHost[]>;
  /** With the names that cover others. */
  readonly wild: readonly PlannedHost[];
}

/** The hosts of a port by the names that they are asked for, so that each service's routes need not go through all. */
const portHosts = recipe(clientFacet, "gRPC hosts by name", (view, port): PortHosts => {
  const hosts = hostsFor(view, port);
  const exact = new Map<string, PlannedHost[]>();
  for (const host of hosts)
    for (const name of new Set(host.domains.map((domain) => hostOf(domain, port)))) {
      const named = exact.get(name);
      if (named) named.push(host);
      else exact.set(name, [host]);
    }
  return { exact, wild: hosts.filter(({ domains }) => domains.some(isWildcard)) };
});

function hostsNamed(view: View<ClientFacet>, host: string, port: number): readonly PlannedHost[] {
  const { exact, wild } = portHosts(view, String(port));
  const covers = ({ domains }: PlannedHost): boolean =>
    domains.some((domain) => isWildcard(domain) && hostCovers(hostOf(domain, String(port)), host));
  const found = new Set([...(exact.get(host) ?? []), ...wild.filter(covers)]);
  return [...found].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A domain without the port that all hosts of the place have. */
function hostOf(domain: string, port: string): string {
  const bare = domain.endsWith(`:${port}`) ? domain.slice(0, -port.length - 1) : domain;
  return bare.toLowerCase().replace(/^\[(.*)\]$/, "$1");
}
