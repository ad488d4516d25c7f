/** A dump's route configurations and a filter in; istioctl's table or the routes themselves out. */
import { RoutesConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import type { Route, VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { printTabs } from "../table.ts";
import { decodeAs } from "./any.ts";
import { describeDomains } from "./domains.ts";
import type { EnvoyDump } from "./dump.ts";
import { sortByLess } from "./order.ts";
import { describeOrigin } from "./origin.ts";
import { describeRouteMatch } from "./route-match.ts";
import type { Cells, View, Why } from "./view.ts";

export interface RouteFilter {
  readonly name?: string | undefined;
  readonly verbose: boolean;
}

export function viewRoutes(dump: EnvoyDump, filter: RouteFilter, why?: Why): View {
  const found = (): readonly RouteConfiguration[] =>
    routesOf(dump).filter((config) => !filter.name || config.name === filter.name);
  return {
    short: (style) => {
      const header = filter.verbose
        ? ["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"]
        : ["NAME", "VIRTUAL HOSTS"];
      const rows = found().flatMap((config): readonly Cells[] => {
        const name = style === "alone" ? config.name : `route/${config.name}`;
        const last = (host?: string): Cells => (why ? [why.text(types.route, config.name, host)] : []);
        if (!filter.verbose) return [[name, String(config.virtualHosts.length), ...last()]];
        return config.virtualHosts.flatMap((host) => {
          const more = last(ownName(config, host));
          return hostRows(config, host).map((cells) => [name, ...cells, ...more]);
        });
      });
      return printTabs([[...header, ...(why ? ["WHY"] : [])], ...rows], 5);
    },
    json: () =>
      why
        ? found().flatMap((config) =>
            config.virtualHosts.map((host) => why.data(types.route, config.name, ownName(config, host))),
          )
        : found().map((config) => dump.print(RouteConfigurationSchema, config)),
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

/** Virtual hosts that came one by one (VHDS) are named after their route. */
const ownName = ({ name: route }: RouteConfiguration, { name }: VirtualHost): string =>
  name.startsWith(`${route}/`) ? name.slice(route.length + 1) : name;

function hostRows(config: RouteConfiguration, host: VirtualHost): readonly Cells[] {
  const domains = describeDomains(host.domains);
  const name = ownName(config, host);
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
