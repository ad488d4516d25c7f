/** A name and virtual hosts in; the route configuration out, as a list of shared parts that is put together while it is written. */
import { create, toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest } from "../../lib/index.ts";
import { encodedResource, type Resource, type RouteParts } from "../../model/index.ts";
import { namedRouteConfig } from "../build/route-config.ts";
import type { HostPart } from "./virtual-host.ts";

/** `last` is the host that takes whatever no other does: it stays inside where the others are sent one by one. */
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
    hosts: () => apart(name, head, hosts, last),
  };
}

function apart(name: string, head: Uint8Array, hosts: readonly HostPart[], last: HostPart | undefined): RouteParts {
  return {
    rest: last ? Buffer.concat([head, last.member]) : head,
    hosts: hosts.map((host) => {
      const own = `${name}/${host.name}`;
      // Of a field that is there twice the last one counts.
      const renamed = toBinary(VirtualHostSchema, create(VirtualHostSchema, { name: own }));
      return encodedResource(own, Buffer.concat([host.bytes, renamed]), host.needs);
    }),
  };
}
