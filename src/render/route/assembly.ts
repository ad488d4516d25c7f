/** A name and virtual hosts in; the route configuration out, as a list of shared parts that is put together while it is written. */
import { create, toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest } from "../../lib/index.ts";
import { type Resource, type RouteParts, routeHostName } from "../../model/index.ts";
import { namedRouteConfig } from "../build/route-config.ts";
import type { HostPart } from "./virtual-host.ts";

/** `last` is the host that takes whatever no other does. */
export function assembleRoutes(name: string, hosts: readonly HostPart[], last?: HostPart): Resource {
  const head = toBinary(RouteConfigurationSchema, namedRouteConfig(name));
  const all = last ? [...hosts, last] : hosts;
  let needs: readonly string[] | undefined;
  return {
    name,
    hash: digest([digest(head), ...all.map(({ hash }) => hash)].join()),
    size: all.reduce((sum, { member }) => sum + member.length, head.length),
    get pieces() {
      return [head, ...all.map(({ member }) => member)];
    },
    get needs() {
      needs ??= [...new Set(all.flatMap((host) => host.needs))];
      return needs;
    },
    hosts: () => apart(name, head, all),
  };
}

function apart(name: string, head: Uint8Array, hosts: readonly HostPart[]): RouteParts {
  return { rest: head, hosts: hosts.map((host) => hostResource(name, host)) };
}

/** Made once for all proxies that have the host. */
const made = new WeakMap<HostPart, Map<string, Resource>>();

function hostResource(route: string, host: HostPart): Resource {
  const byRoute = made.get(host) ?? new Map<string, Resource>();
  made.set(host, byRoute);
  const resource = byRoute.get(route) ?? renamed(routeHostName(route, host.name), host);
  byRoute.set(route, resource);
  return resource;
}

function renamed(name: string, host: HostPart): Resource {
  // Of a field that is there twice the last one counts.
  const own = toBinary(VirtualHostSchema, create(VirtualHostSchema, { name }));
  const { bytes, hash, needs } = host;
  return { name, hash, needs, pieces: [bytes, own], size: bytes.length + own.length };
}
