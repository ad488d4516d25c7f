/** A route configuration in; the same with the patches on it, its virtual hosts and their routes out. */
import { clone } from "@bufbuild/protobuf";
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { matchesConfig, matchesHost, matchesRoute, namesRoute } from "./match-route.ts";
import { mergeInto } from "./merge.ts";
import { isMerge, type Patch } from "./patch.ts";
import { type PatchRun, type ReadyPatch, valueOf } from "./patch-run.ts";
import { placeIn } from "./place.ts";

type HostPatch = ReadyPatch<typeof VirtualHostSchema>;
type RoutePatch = ReadyPatch<typeof RouteSchema>;

const listRule = ({ operation }: Patch) => (operation === "MERGE" ? "append" : "replace");

/** Changes the configuration in place. */
export function patchRoutes(run: PatchRun, config: RouteConfiguration): void {
  for (const ready of run.of("ROUTE_CONFIGURATION", RouteConfigurationSchema)) {
    const { patch, value } = ready;
    if (!value || !matchesConfig(run, patch, config)) continue;
    run.apply(ready, () => {
      mergeInto(RouteConfigurationSchema, config, value, listRule(patch));
      return true;
    });
  }
  const hosts = run.of("VIRTUAL_HOST", VirtualHostSchema).filter(({ patch }) => matchesConfig(run, patch, config));
  const routes = run.of("HTTP_ROUTE", RouteSchema).filter(({ patch }) => matchesConfig(run, patch, config));
  patchHosts(run, config, hosts, routes);
}

function patchHosts(
  run: PatchRun,
  config: RouteConfiguration,
  patches: readonly HostPatch[],
  routes: readonly RoutePatch[],
): void {
  const removed = new Set<string>();
  config.virtualHosts = config.virtualHosts.map((host) => {
    const { current, stays } = patchHost(run, host, patches);
    if (stays) patchHostRoutes(run, current, routes);
    else removed.add(current.name);
    return current;
  });
  for (const ready of patches.filter(({ patch }) => patch.operation === "ADD"))
    run.apply(ready, () => {
      config.virtualHosts.push(valueOf(ready));
      return true;
    });
  // By name, and last: a host that was added under the name of a removed one goes with it.
  config.virtualHosts = config.virtualHosts.filter(({ name }) => !removed.has(name));
}

function patchHost(
  run: PatchRun,
  host: VirtualHost,
  patches: readonly HostPatch[],
): { readonly current: VirtualHost; readonly stays: boolean } {
  let current = host;
  for (const ready of patches) {
    const { patch, value } = ready;
    if (!matchesHost(patch, current)) continue;
    if (patch.operation === "REMOVE") {
      run.apply(ready, () => true);
      return { current, stays: false };
    }
    if (patch.operation === "ADD" || !value) continue;
    run.apply(ready, () => {
      if (patch.operation === "REPLACE") current = clone(VirtualHostSchema, value);
      else mergeInto(VirtualHostSchema, current, value, listRule(patch));
      return true;
    });
  }
  return { current, stays: true };
}

function patchHostRoutes(run: PatchRun, host: VirtualHost, patches: readonly RoutePatch[]): void {
  const own = patches.filter(({ patch }) => matchesHost(patch, host));
  host.routes = host.routes.filter((route) => patchRoute(run, route, own));
  for (const ready of own) {
    const { patch } = ready;
    if (isMerge(patch.operation) || patch.operation === "REMOVE") continue;
    run.apply(ready, () => placeRoute(host.routes, ready));
  }
}

/** False where the route is to go. */
function patchRoute(run: PatchRun, route: Route, patches: readonly RoutePatch[]): boolean {
  for (const ready of patches) {
    const { patch, value } = ready;
    if (!matchesRoute(patch, route)) continue;
    if (patch.operation === "REMOVE") {
      run.apply(ready, () => true);
      return false;
    }
    if (isMerge(patch.operation) && value)
      run.apply(ready, () => {
        mergeInto(RouteSchema, route, value, listRule(patch));
        return true;
      });
  }
  return true;
}

/** Unlike with filters, a route that is named must be there, also where the new one becomes the first. */
function placeRoute(routes: Route[], ready: RoutePatch): boolean {
  const { patch } = ready;
  const named = namesRoute(patch);
  const matches = (route: Route): boolean => matchesRoute(patch, route);
  if (patch.operation === "INSERT_FIRST" && named && !routes.some(matches)) return false;
  return placeIn(routes, {
    operation: patch.operation,
    matches: named ? matches : undefined,
    make: () => valueOf(ready),
  });
}
