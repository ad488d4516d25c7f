/** Responses on virtual hosts in; what an Envoy has of them out: it drops, without a word, those of routes it does not hold. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "../../src/gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../src/gen/envoy/config/route/v3/route_pb.js";

export interface HeldHosts {
  /** Without bytes it is claimed later, and nothing else. */
  take(name: string, bytes: Uint8Array | undefined, version: string): void;
  remove(name: string): void;
  /** The route is no longer asked for: its hosts go with it, but not what Envoy says to hold of them. */
  forget(route: string): void;
  /** What is claimed on the next stream, by name. */
  versions(): ReadonlyMap<string, string>;
  /** A route configuration as it is in force, with the hosts that it has got. */
  merged(route: string, bytes: Uint8Array): Uint8Array;
}

export function createHeldHosts(holds: (route: string) => boolean): HeldHosts {
  const byRoute = new Map<string, Map<string, Uint8Array>>();
  const claims = new Map<string, string>();
  const routeOf = (name: string): string => name.slice(0, name.lastIndexOf("/"));
  return {
    take(name, bytes, version) {
      claims.set(name, version);
      const route = routeOf(name);
      if (bytes && holds(route)) byRoute.set(route, (byRoute.get(route) ?? new Map()).set(name, bytes));
    },
    remove(name) {
      claims.delete(name);
      byRoute.get(routeOf(name))?.delete(name);
    },
    forget: (route) => byRoute.delete(route),
    versions: () => claims,
    merged(route, bytes) {
      const config = fromBinary(RouteConfigurationSchema, bytes);
      if (!config.vhds) return asMerged(bytes);
      const hosts = [...(byRoute.get(route)?.values() ?? [])].map((host) => fromBinary(VirtualHostSchema, host));
      return ordered({ ...config, virtualHosts: [...config.virtualHosts, ...hosts] });
    },
  };
}

/** A whole route configuration, to be compared with a merged one: hosts have the names by which they travel. */
export function asMerged(bytes: Uint8Array): Uint8Array {
  const config = fromBinary(RouteConfigurationSchema, bytes);
  const taken = new Set<string>();
  const named = config.virtualHosts.map((host) => {
    const base = `${config.name}/${host.name.replaceAll("/", "_")}`;
    let name = base;
    // Patches may add hosts of one name.
    for (let count = 2; taken.has(name); count++) name = `${base}~${count}`;
    taken.add(name);
    return { ...host, name };
  });
  return ordered({ ...config, virtualHosts: named });
}

function ordered(config: ReturnType<typeof create<typeof RouteConfigurationSchema>>): Uint8Array {
  const { vhds: _, ...rest } = config;
  const virtualHosts = config.virtualHosts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { ...rest, virtualHosts }));
}
