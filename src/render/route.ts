/** The route configurations that a proxy's listeners refer to, by name: sidecars' outbound ports, gateways' servers. */
import { types } from "../model/index.ts";
import { gatewayRouteConfig, gatewayRouteNames } from "./gateway-route.ts";
import type { ResourceKind } from "./kind.ts";
import { outboundListenerRoutes } from "./listener-outbound-plan.ts";
import { httpProxyRoute } from "./route/egress.ts";
import { outboundRouteConfig } from "./route/outbound.ts";
import type { View } from "./view.ts";

export const routeKind: ResourceKind = {
  type: types.route,
  names: (view) => (view.proxy.type === "router" ? gatewayRouteNames(view) : sidecarRouteNames(view)),
  render: (view, name) =>
    view.proxy.type === "router" ? gatewayRouteConfig(view, name) : outboundRouteConfig(view, name),
};

/** The mesh-wide HTTP proxy port has a listener and routes of its own. */
function sidecarRouteNames(view: View): readonly string[] {
  const names = outboundListenerRoutes(view);
  return view.mesh.settings().proxyHttpPort ? [...names, httpProxyRoute] : names;
}
