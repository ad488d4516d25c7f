/** The route configurations that a proxy's listeners refer to, by name: sidecars' outbound ports, gateways' servers. */
import { types } from "../model/index.ts";
import { gatewayRouteConfig, gatewayRouteNames } from "./gateway-route.ts";
import type { ResourceKind } from "./kind.ts";
import { outboundRouteNames } from "./route/names.ts";
import { outboundRouteConfig } from "./route/outbound.ts";

export const routeKind: ResourceKind = {
  type: types.route,
  names: (view) => (view.proxy.type === "router" ? gatewayRouteNames(view) : outboundRouteNames(view)),
  render: (view, name) =>
    view.proxy.type === "router" ? gatewayRouteConfig(view, name) : outboundRouteConfig(view, name),
};
