/** A route configuration in, what is sent of it where virtual hosts go one by one out; worked out once for all streams. */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ApiVersion } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest, joinKept } from "../../lib/index.ts";
import { bytesOf, type Resource, type RouteParts, routeHostName } from "../../model/index.ts";
import type { Mark } from "./response.ts";
import { createHostIndex, type HostStep, type RouteHosts } from "./route-hosts.ts";

export interface Apart {
  /** The route configuration without any host, saying that these come by themselves. */
  readonly rest: Resource;
  readonly hosts: RouteHosts;
  /** No name is there twice, and none is that of the mark: by itself, a host is known by nothing else. */
  readonly isSound: boolean;
}

export interface RouteApart {
  of(route: Resource): Apart;
  /** All its hosts, as one list for all who are sent them whole: its body is put together once. */
  whole(route: Resource): readonly Resource[];
  /** As Envoy shows it once it has all hosts: these in the order of their names. */
  merged(route: Resource): Uint8Array;
  between(from: Resource, to: Resource): HostStep;
}

/** In the version of a route configuration, so that a client that comes back tells in which way it has it. */
const suffix = ".vhds";

export const isApartVersion = (version: string): boolean => version.endsWith(suffix);

/** A route configuration without its hosts, by digest, and since which time it was followed by all of them. */
export interface RestVersion {
  readonly digest: string;
  /** Names one time at which all was sent, on any stream; empty in the versions of before there were any. */
  readonly epoch: string;
}

export const formatRestVersion = ({ digest, epoch }: RestVersion): string => `${digest}.${epoch}${suffix}`;

export function parseRestVersion(version: string): RestVersion {
  const [digest = "", epoch = ""] = version.slice(0, -suffix.length).split(".");
  return { digest, epoch };
}

export const epochName = (route: string): string => `${route}/~epoch`;

/** Travels with all hosts of a route; whoever says that it has this has got them. */
export const epochMark = (route: string, epoch: string): Mark => ({ name: epochName(route), version: epoch });

export interface Claimed {
  /** Of the mark; empty where it was not there. */
  readonly epoch: string;
  /** Versions by name. */
  readonly hosts: ReadonlyMap<string, string>;
}

/** What a client says to hold, name and version, by route. */
export function readClaims(all: Iterable<readonly [string, string]>): Map<string, Claimed> {
  const byRoute = [...Map.groupBy(all, ([name]) => routeOf(name))].map(([route, held]) => {
    const hosts = new Map(held);
    const epoch = hosts.get(epochName(route)) ?? "";
    hosts.delete(epochName(route));
    return [route, { epoch, hosts }] as const;
  });
  return new Map(byRoute);
}

/** `ROUTE/HOST`; the host's name has no slash. */
export const routeOf = (hostName: string): string => hostName.slice(0, Math.max(0, hostName.lastIndexOf("/")));

export function createRouteApart(): RouteApart {
  const known = new WeakMap<Resource, Apart>();
  const steps = new WeakMap<Resource, WeakMap<Resource, HostStep>>();
  const index = createHostIndex();
  /** Held only by who sends it. */
  const wholes = new WeakMap<Resource, WeakRef<readonly Resource[]>>();

  function of(route: Resource): Apart {
    const found = known.get(route) ?? apart(route);
    known.set(route, found);
    return found;
  }

  function apart(route: Resource): Apart {
    const parts = route.hosts?.() ?? splitRoute(route);
    const hosts = index.of(parts);
    const pieces = [parts.rest, asksForHosts];
    return {
      rest: { name: route.name, hash: digest(parts.rest), needs: [], pieces, size: size(pieces) },
      hosts,
      isSound: hosts.areUnique && !hosts.has(epochName(route.name)),
    };
  }

  function whole(route: Resource): readonly Resource[] {
    const known = wholes.get(route)?.deref();
    if (known) return known;
    const list = of(route).hosts.list();
    wholes.set(route, new WeakRef(list));
    return list;
  }

  return {
    of,
    whole,
    merged(route) {
      const { rest, hosts } = of(route);
      const writer = new BinaryWriter().raw(bytesOf(rest));
      for (const name of [...hosts.keys()].sort()) {
        const host = hosts.get(name);
        if (host) writer.tag(virtualHosts.number, WireType.LengthDelimited).bytes(bytesOf(host));
      }
      return writer.finish();
    },
    between(from, to) {
      const byTarget = steps.get(from) ?? new WeakMap<Resource, HostStep>();
      steps.set(from, byTarget);
      const found = byTarget.get(to) ?? index.between(of(from).hosts, of(to).hosts);
      byTarget.set(to, found);
      return found;
    },
  };
}

const asksForHosts = toBinary(
  RouteConfigurationSchema,
  create(RouteConfigurationSchema, {
    vhds: {
      configSource: { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: ApiVersion.V3 },
    },
  }),
);

const { virtualHosts } = RouteConfigurationSchema.field;
const { name: nameField } = VirtualHostSchema.field;

/** One that was made as a whole, as patches make it, is taken apart by its bytes. */
export function splitRoute(route: Resource): RouteParts {
  const bytes = bytesOf(route);
  const rest: Uint8Array[] = [];
  const hosts: Resource[] = [];
  const taken = new Map<string, number>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    if (number === virtualHosts.number && type === WireType.LengthDelimited) {
      const host = reader.bytes();
      hosts.push(hostOf(ownName(taken, routeHostName(route.name, readName(host))), host));
      continue;
    }
    reader.skip(type, number);
    rest.push(bytes.subarray(start, reader.pos));
  }
  return { rest: joinKept(rest), hosts, instead: new Map() };
}

/**
 * Patches may add hosts of one name, which differ in their domains: by itself, a host is known by nothing but its name. Of
 * each name that was given, how often it was wanted.
 */
function ownName(taken: Map<string, number>, name: string): string {
  let [own, count] = [name, taken.get(name) ?? 0];
  while (taken.has(own)) own = `${name}~${++count}`;
  taken.set(name, Math.max(count, 1));
  taken.set(own, taken.get(own) ?? 1);
  return own;
}

function hostOf(name: string, bytes: Uint8Array): Resource {
  // Of a field that is there twice the last one counts.
  const pieces = [bytes, toBinary(VirtualHostSchema, create(VirtualHostSchema, { name }))];
  return { name, hash: digest(bytes), needs: [], pieces, size: size(pieces) };
}

function readName(host: Uint8Array): string {
  let name = "";
  const reader = new BinaryReader(host);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === nameField.number) name = reader.string();
    else reader.skip(type, number);
  }
  return name;
}

const size = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0);
