/** A dump's route configurations and a filter in; istioctl's table or the routes themselves out. */
import { RoutesConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import type { Route, VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { printTabs } from "../table.ts";
import { decodeAs } from "./any.ts";
import { describeDomains } from "./domains.ts";
import type { EnvoyDump } from "./dump.ts";
import { sortByLess } from "./order.ts";
import { describeOrigin } from "./origin.ts";
import { describeRouteMatch } from "./route-match.ts";
import type { Cells, View } from "./view.ts";

export interface RouteFilter {
  readonly name?: string | undefined;
  readonly verbose: boolean;
}

export function viewRoutes(dump: EnvoyDump, filter: RouteFilter): View {
  const found = (): readonly RouteConfiguration[] =>
    routesOf(dump).filter((config) => !filter.name || config.name === filter.name);
  return {
    short: (style) => {
      const header = filter.verbose
        ? ["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"]
        : ["NAME", "VIRTUAL HOSTS"];
      const rows = found().flatMap((config): readonly Cells[] => {
        const name = style === "alone" ? config.name : `route/${config.name}`;
        if (!filter.verbose) return [[name, String(config.virtualHosts.length)]];
        return config.virtualHosts.flatMap((host) => hostRows(config, host).map((cells) => [name, ...cells]));
      });
      return printTabs([header, ...rows], 5);
    },
    json: () => found().map((config) => dump.print(RouteConfigurationSchema, config)),
  };
}

function routesOf(dump: EnvoyDump): readonly RouteConfiguration[] {
  const section = dump.section(RoutesConfigDumpSchema);
  const configs = [...section.dynamicRouteConfigs, ...section.staticRouteConfigs].flatMap(({ routeConfig }) =>
    routeConfig ? [decodeAs(RouteConfigurationSchema, routeConfig)] : [],
  );
  if (configs.length === 0) throw new FairleadError("not-found", "no routes found");
  // Only names that are port numbers have an order.
  return sortByLess(configs, (a, b) => isNumber(a.name) && isNumber(b.name) && Number(a.name) < Number(b.name));
}

function isNumber(text: string): boolean {
  return /^[-+]?\d+$/.test(text);
}

function hostRows({ name: routeName }: RouteConfiguration, host: VirtualHost): readonly Cells[] {
  const domains = describeDomains(host.domains);
  // Virtual hosts that came one by one (VHDS) are named after their route.
  const name = host.name.startsWith(`${routeName}/`) ? host.name.slice(routeName.length + 1) : host.name;
  if (host.routes.length === 0) return [[name, domains, "/*", "404"]];
  return host.routes
    .filter((route) => !isPassthrough(route))
    .map((route) => [name, domains, describeRouteMatch(route.match), describeOrigin(route.metadata)]);
}

function isPassthrough({ action }: Route): boolean {
  if (action.case !== "route") return false;
  const { clusterSpecifier } = action.value;
  return clusterSpecifier.case === "cluster" && clusterSpecifier.value === "PassthroughCluster";
}
