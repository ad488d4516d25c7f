/** A route configuration in, what is sent of it where virtual hosts go one by one out; worked out once for all streams. */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ApiVersion } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest } from "../../lib/index.ts";
import { bytesOf, type Resource, type RouteParts, routeHostName } from "../../model/index.ts";

export interface Apart {
  /** The route configuration without any host, saying that these come by themselves. */
  readonly rest: Resource;
  readonly hosts: ReadonlyMap<string, Resource>;
  /** No name is there twice: by itself, a host is known by nothing else. */
  readonly isSound: boolean;
}

export interface HostStep {
  readonly changed: readonly Resource[];
  readonly removed: readonly string[];
}

export interface RouteApart {
  of(route: Resource): Apart;
  /** As Envoy shows it once it has all hosts: these in the order of their names. */
  merged(route: Resource): Uint8Array;
  between(from: Resource, to: Resource): HostStep;
}

/** In the version of a route configuration, so that a client that comes back tells in which way it has it. */
const mark = ".vhds";

export const isApartVersion = (version: string): boolean => version.endsWith(mark);

/** `ROUTE/HOST`; the host's name has no slash. */
export const routeOf = (hostName: string): string => hostName.slice(0, Math.max(0, hostName.lastIndexOf("/")));

export function createRouteApart(): RouteApart {
  const known = new WeakMap<Resource, Apart>();
  const steps = new WeakMap<Resource, WeakMap<Resource, HostStep>>();

  function of(route: Resource): Apart {
    const found = known.get(route) ?? apart(route);
    known.set(route, found);
    return found;
  }

  function apart(route: Resource): Apart {
    const { rest, hosts } = route.hosts?.() ?? splitRoute(route);
    const byName = new Map(hosts.map((host) => [host.name, host]));
    const pieces = [rest, asksForHosts];
    return {
      rest: { name: route.name, hash: `${digest(rest)}${mark}`, needs: [], pieces, size: size(pieces) },
      hosts: byName,
      isSound: byName.size === hosts.length,
    };
  }

  return {
    of,
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
      const found = byTarget.get(to) ?? stepOf(of(from).hosts, of(to).hosts);
      byTarget.set(to, found);
      return found;
    },
  };
}

function stepOf(from: Apart["hosts"], to: Apart["hosts"]): HostStep {
  return {
    changed: [...to.values()].filter((host) => from.get(host.name)?.hash !== host.hash),
    removed: [...from.keys()].filter((name) => !to.has(name)),
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
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, type] = reader.tag();
    if (number === virtualHosts.number && type === WireType.LengthDelimited) {
      hosts.push(hostOf(route.name, reader.bytes()));
      continue;
    }
    reader.skip(type, number);
    rest.push(bytes.subarray(start, reader.pos));
  }
  return { rest: Buffer.concat(rest), hosts };
}

function hostOf(route: string, bytes: Uint8Array): Resource {
  const name = routeHostName(route, readName(bytes));
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
