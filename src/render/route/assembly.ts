/**
 * A name and virtual hosts in; the route configuration out. Many have the same list of hosts but for a few: what follows
 * from the list is worked out once for all of them, and the whole is put together while it is written.
 */
import { toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest } from "../../lib/index.ts";
import { type Resource, type RouteParts, routeHostName } from "../../model/index.ts";
import { namedRouteConfig } from "../build/route-config.ts";
import { flat, nested, partOf } from "../part.ts";
import type { HostPart } from "./virtual-host.ts";

/** Virtual hosts in their order. */
export interface HostList {
  readonly hosts: readonly HostPart[];
  readonly hash: string;
  /** Bytes of all, as members of a route configuration. */
  readonly size: number;
}

export function hostList(hosts: readonly HostPart[]): HostList {
  return {
    hosts,
    hash: digest(hosts.map(({ hash }) => hash).join()),
    size: hosts.reduce((sum, { member }) => sum + member.length, 0),
  };
}

export interface Changes {
  /** Hosts by the place in the list that they have instead of the list's own. */
  readonly instead?: ReadonlyMap<number, HostPart>;
  /** The host that takes whatever no other does. */
  readonly last?: HostPart;
  /** The configuration before its hosts are in it. */
  readonly shell?: RouteConfiguration;
}

const nothing: ReadonlyMap<number, HostPart> = new Map();

export function assembleRoutes(
  name: string,
  list: HostList,
  { instead = nothing, last, shell }: Changes = {},
): Resource {
  const head = toBinary(RouteConfigurationSchema, shell ?? namedRouteConfig(name));
  let size = head.length + list.size + (last?.member.length ?? 0);
  for (const [i, { member }] of instead) size += member.length - (list.hosts[i]?.member.length ?? 0);
  const swapped = [...instead].map(([i, { hash }]) => `${i} ${hash}`);
  const hash = digest([digest(head), list.hash, ...swapped, last?.hash ?? ""].join());
  return new AssembledRoutes({ name, hash, size, head, list, instead, last });
}

/** A class, so that all of them have one shape, whatever is asked of them. */
class AssembledRoutes implements Resource {
  readonly name;
  readonly hash;
  readonly size;
  readonly #parts;
  #needs: readonly string[] | undefined;

  constructor(parts: {
    readonly name: string;
    readonly hash: string;
    readonly size: number;
    readonly head: Uint8Array;
    readonly list: HostList;
    readonly instead: ReadonlyMap<number, HostPart>;
    readonly last: HostPart | undefined;
  }) {
    this.name = parts.name;
    this.hash = parts.hash;
    this.size = parts.size;
    this.#parts = parts;
  }

  get pieces(): readonly Uint8Array[] {
    const { head, list, instead, last } = this.#parts;
    return [head, ...allOf(list, instead, last).map(({ member }) => member)];
  }

  get needs(): readonly string[] {
    const { list, instead, last } = this.#parts;
    this.#needs ??= needsOf(list, instead, last);
    return this.#needs;
  }

  hosts() {
    const { name, head, list, instead, last } = this.#parts;
    return apart(name, head, list, instead, last);
  }
}

function allOf(
  { hosts }: HostList,
  instead: ReadonlyMap<number, HostPart>,
  last: HostPart | undefined,
): readonly HostPart[] {
  const all = last ? [...hosts, last] : [...hosts];
  for (const [i, host] of instead) all[i] = host;
  return all;
}

const unique = (hosts: readonly HostPart[]): readonly string[] => [...new Set(hosts.flatMap(({ needs }) => needs))];

/** By the list and the last host. */
const usualNeeds = new WeakMap<HostList, Map<HostPart | undefined, readonly string[]>>();

/** A host that takes another's place mostly has other names and the same routes: then all have the same array. */
function needsOf(
  list: HostList,
  instead: ReadonlyMap<number, HostPart>,
  last: HostPart | undefined,
): readonly string[] {
  if (!instead.entries().every(([i, { needs }]) => needs.join() === list.hosts[i]?.needs.join()))
    return unique(allOf(list, instead, last));
  return known(usualNeeds, list, last, () => unique(allOf(list, nothing, last)));
}

/** By the list, then the route's name and the last host. */
const usualHosts = new WeakMap<HostList, Map<string, readonly Resource[]>>();

function apart(
  name: string,
  rest: Uint8Array,
  list: HostList,
  instead: ReadonlyMap<number, HostPart>,
  last: HostPart | undefined,
): RouteParts {
  const made = (host: HostPart): Resource => hostResource(name, host);
  return {
    rest,
    hosts: known(usualHosts, list, `${name} ${last?.hash}`, () => allOf(list, nothing, last).map(made)),
    instead: new Map(instead.entries().map(([i, host]) => [i, made(host)])),
  };
}

function known<K extends object, T, V>(all: WeakMap<K, Map<T, V>>, of: K, key: T, make: () => V): V {
  const byKey = all.get(of) ?? new Map<T, V>();
  all.set(of, byKey);
  const found = byKey.get(key) ?? make();
  byKey.set(key, found);
  return found;
}

/** Made once for all proxies that have the host. */
const resources = new WeakMap<HostPart, Map<string, Resource>>();

const hostResource = (route: string, host: HostPart): Resource =>
  known(resources, host, route, () => renamed(routeHostName(route, host.name), host));

function renamed(name: string, host: HostPart): Resource {
  // Of a field that is there twice the last one counts.
  const own = flat(nested(VirtualHostSchema, "name", partOf([Buffer.from(name)])));
  const { bytes, hash, needs } = host;
  return { name, hash, needs, pieces: [bytes, ...own.pieces], size: bytes.length + own.size };
}
