/** What a patch says about routes and a place in a route configuration in; whether the place is meant out. */
import type { Route, VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import type { ServerFacet } from "../../model/index.ts";
import { mergedGateways } from "../gateway/servers.ts";
import type { View } from "../view.ts";
import type { Patch } from "./patch.ts";
import type { PatchRun } from "./patch-run.ts";

export function matchesConfig({ ports, context }: PatchRun, { match }: Patch, config: RouteConfiguration): boolean {
  const { name = "", portNumber = 0, portName = "", gateway = "" } = match.routeConfiguration ?? {};
  if (name !== "" && name !== config.name) return false;
  if (context !== "GATEWAY") return portNumber === 0 || portNumber === sidecarPort(config.name);
  const parsed = parseGatewayRoute(config.name);
  return (
    (portName === "" || portName === parsed.portName) &&
    (gateway === "" || gateway === parsed.gateway) &&
    (portNumber === 0 || ports.includes(portNumber))
  );
}

/** `8080`, or `inbound|8080||`; a route that is for one host of a port has no port here. */
function sidecarPort(name: string): number {
  const digits = name.startsWith("inbound") ? name.split("|")[1] : name;
  return /^\d+$/.test(digits ?? "") ? Number(digits) : 0;
}

interface GatewayRoute {
  readonly port: number;
  readonly portName: string;
  /** `namespace/name`. */
  readonly gateway: string;
}

/** `http.PORT`, or `https.PORT.PORTNAME.GATEWAY.NAMESPACE`. Names with further dots, such as binds, are not understood. */
function parseGatewayRoute(name: string): GatewayRoute {
  const [scheme, port = "", portName = "", gateway = "", namespace = "", ...more] = name.split(".");
  const number = /^\d+$/.test(port) ? Number(port) : 0;
  if (scheme === "http") return { port: name === `http.${port}` ? number : 0, portName: "", gateway: "" };
  if (scheme !== "https" || namespace === "" || more.length > 0) return { port: 0, portName: "", gateway: "" };
  return { port: number, portName, gateway: `${namespace}/${gateway}` };
}

/** A plain route is named for the port of the workload; users mean the one that the Gateway names. */
export function gatewayPorts(view: View<ServerFacet>, routeName: string): readonly number[] {
  const { port } = parseGatewayRoute(routeName);
  const servers = [...mergedGateways(view).byRoute].flatMap(([name, bound]) =>
    parseGatewayRoute(name).port === port ? bound : [],
  );
  return servers.length === 0 ? [port] : servers.map(({ server }) => server.port?.number ?? 0);
}

export function matchesHost({ match }: Patch, { name, domains }: VirtualHost): boolean {
  const wanted = match.routeConfiguration?.vhost ?? {};
  return (!wanted.name || wanted.name === name) && (!wanted.domainName || domains.includes(wanted.domainName));
}

export const namesRoute = ({ match }: Patch): boolean => match.routeConfiguration?.vhost?.route !== undefined;

const actions: ReadonlyMap<Route["action"]["case"], string> = new Map([
  ["route", "ROUTE"],
  ["redirect", "REDIRECT"],
  ["directResponse", "DIRECT_RESPONSE"],
]);

export function matchesRoute({ match }: Patch, { name, action }: Route): boolean {
  const wanted = match.routeConfiguration?.vhost?.route ?? {};
  if (wanted.name && wanted.name !== name) return false;
  const kind = actions.get(action.case);
  // A route that does something else has no action that could be named.
  return (wanted.action ?? "ANY") === "ANY" || kind === undefined || kind === wanted.action;
}
