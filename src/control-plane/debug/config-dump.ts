/** A connected proxy in; what it is sent, in the form of Envoy's own config dump, with key material redacted, out. */
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { SecretsConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_pb.js";
import {
  ClustersConfigDumpSchema,
  EndpointsConfigDumpSchema,
  ListenersConfigDumpSchema,
  RoutesConfigDumpSchema,
} from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import { SecretSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { createRest, lazyFields, lazyList } from "../../lib/index.ts";
import { bytesOf, type Resource, type ResourceType, types } from "../../model/index.ts";
import { createJsonPrinter, type Renderer, shownResource } from "../../render/index.ts";
import type { Ads } from "../../xds/index.ts";
import type { ControlledSource } from "../source/resource-source.ts";

/** As the proxy would show it. */
function shown(ads: Ads, connectionId: string, type: ResourceType, resource: Resource): Uint8Array {
  if (type === types.route) return ads.shownRoute(connectionId, resource);
  return shownResource(type, bytesOf(resource));
}

/** What reached it: of what it is sent by name, what it has asked for. */
function followed(ads: Ads, connectionId: string, type: ResourceType, renderer: Renderer): readonly Resource[] {
  const all = renderer.set(type).list();
  const names = ads.followed(connectionId, type);
  // An application that is its own xDS client has no sets: what it asked for by name is all there is.
  if (all.length === 0 && names && askedByName.has(type))
    return [...names].sort().flatMap((name) => renderer.get(type, name) ?? []);
  if (type === types.cluster || type === types.listener) return all;
  return names ? all.filter(({ name }) => names.has(name)) : all;
}

const askedByName: ReadonlySet<ResourceType> = new Set([types.listener, types.route, types.cluster, types.endpoint]);

const dumpType = (name: string): string => `type.googleapis.com/envoy.admin.v3.${name}`;

export interface DumpOptions {
  /** Just the resources of these types, bare; empty or absent means all, as Envoy dumps them. */
  readonly only?: readonly ResourceType[];
  /** With endpoints, which Envoy leaves out of its dump unless asked. */
  readonly endpoints?: boolean;
}

export type ConfigDump = (connectionId: string, options?: DumpOptions) => Promise<unknown>;

export function createConfigDump(source: ControlledSource, ads: Ads): ConfigDump {
  const print = createJsonPrinter();
  return async (connectionId, { only = [], endpoints = false } = {}) => {
    const renderer = rendererOf(source, ads, connectionId);
    if (!renderer) return {};
    // There may be ten thousand: each is printed when its turn to be written has come.
    const all: AllOf = (type, shape = (printed) => printed) =>
      followed(ads, connectionId, type, renderer).map((resource) => () => {
        const printed =
          type === types.secret ? { name: resource.name } : print(type, shown(ads, connectionId, type, resource));
        return shape({ "@type": type, ...printed });
      });
    if (only.length === 0) {
      const version = (type: ResourceType): object => versionOf(ads, connectionId, type);
      const configs = [{ "@type": dumpType("BootstrapConfigDump") }, ...sections(all, version, endpoints)];
      return lazyFields([["configs", lazyList(configs)]]);
    }
    const configs = only.flatMap((type) => all(type));
    return configs.length === 0 ? {} : lazyFields([["configs", lazyList(madeOf(configs))]]);
  };
}

type AllOf = (type: ResourceType, shape?: (printed: object) => object) => readonly (() => object)[];

function* madeOf(members: readonly (() => object)[]): Generator<object> {
  for (const member of members) yield member();
}

/** One resource of a proxy; undefined where it has none of that name, and a secret never. */
export type ShowResource = (connectionId: string, type: ResourceType, name: string) => object | undefined;

export function createShowResource(source: ControlledSource, ads: Ads): ShowResource {
  const print = createJsonPrinter();
  return (connectionId, type, name) => {
    const renderer = rendererOf(source, ads, connectionId);
    const resource =
      renderer?.set(type).get(name) ??
      (renderer && followed(ads, connectionId, type, renderer).find((one) => one.name === name));
    if (!resource) return undefined;
    return type === types.secret ? { name } : print(type, shown(ads, connectionId, type, resource));
  };
}

function versionOf(ads: Ads, connectionId: string, type: ResourceType): object {
  const status = ads.statusOf(connectionId);
  const sent = status?.types.find((one) => one.type === type)?.sentVersion ?? "";
  return sent === "" ? {} : { versionInfo: sent };
}

/** In the order in which Envoy has them. */
function sections(all: AllOf, version: (type: ResourceType) => object, endpoints: boolean): readonly object[] {
  const section = (name: string, field: string, members: readonly (() => object)[], of: object = {}): object =>
    lazyFields([
      ["@type", dumpType(name)],
      ...Object.entries(of),
      [field, members.length === 0 ? undefined : lazyList(madeOf(members))],
    ]);
  const ofListeners = version(types.listener);
  const ofRoutes = version(types.route);
  return [
    section(
      "ClustersConfigDump",
      "dynamicActiveClusters",
      all(types.cluster, (cluster) => ({ cluster })),
      version(types.cluster),
    ),
    ...(endpoints
      ? [
          section(
            "EndpointsConfigDump",
            "dynamicEndpointConfigs",
            all(types.endpoint, (endpointConfig) => ({ endpointConfig })),
          ),
        ]
      : []),
    section(
      "ListenersConfigDump",
      "dynamicListeners",
      all(types.listener, (listener) => ({ name: nameOf(listener), activeState: { ...ofListeners, listener } })),
      ofListeners,
    ),
    section("ScopedRoutesConfigDump", "dynamicScopedRouteConfigs", []),
    section(
      "RoutesConfigDump",
      "dynamicRouteConfigs",
      all(types.route, (routeConfig) => ({ ...ofRoutes, routeConfig })),
    ),
    section(
      "SecretsConfigDump",
      "dynamicActiveSecrets",
      all(types.secret, (secret) => ({ name: nameOf(secret), secret })),
    ),
    section(
      "EcdsConfigDump",
      "ecdsFilters",
      all(types.extension, (ecdsFilter) => ({ ecdsFilter })),
    ),
  ];
}

/** The same as messages, for those who ask by xDS. */
export function createConfigDumpMessages(
  source: ControlledSource,
  ads: Ads,
): (connectionId: string) => Promise<readonly DumpMessage[]> {
  return async (connectionId) => {
    const renderer = rendererOf(source, ads, connectionId);
    if (!renderer) return [];
    const rest = createRest();
    const all = async (type: ResourceType) => {
      const made: { readonly name: string; readonly any: { readonly typeUrl: string; readonly value: Uint8Array } }[] =
        [];
      for (const resource of followed(ads, connectionId, type, renderer)) {
        made.push({ name: resource.name, any: { typeUrl: type, value: shown(ads, connectionId, type, resource) } });
        await rest();
      }
      return made;
    };
    const [clusters, listeners, routes, secrets, endpoints] = [
      await all(types.cluster),
      await all(types.listener),
      await all(types.route),
      await all(types.secret),
      await all(types.endpoint),
    ];
    return [
      dump(ClustersConfigDumpSchema, { dynamicActiveClusters: clusters.map(({ any: cluster }) => ({ cluster })) }),
      dump(ListenersConfigDumpSchema, {
        dynamicListeners: listeners.map(({ name, any: listener }) => ({ name, activeState: { listener } })),
      }),
      dump(RoutesConfigDumpSchema, { dynamicRouteConfigs: routes.map(({ any: routeConfig }) => ({ routeConfig })) }),
      dump(SecretsConfigDumpSchema, {
        dynamicActiveSecrets: secrets.map(({ name }) => ({
          name,
          secret: { typeUrl: types.secret, value: toBinary(SecretSchema, create(SecretSchema, { name })) },
        })),
      }),
      dump(EndpointsConfigDumpSchema, {
        dynamicEndpointConfigs: endpoints.map(({ any: endpointConfig }) => ({ endpointConfig })),
      }),
    ];
  };
}

interface DumpMessage {
  readonly typeUrl: string;
  readonly bytes: Uint8Array;
}

function dump<D extends DescMessage>(schema: D, content: MessageInitShape<D>): DumpMessage {
  return {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    bytes: toBinary(schema, create(schema, content)),
  };
}

/** By the connection itself: another one may claim the same node id. */
function rendererOf(source: ControlledSource, ads: Ads, connectionId: string): Renderer | undefined {
  const proxy = ads.statusOf(connectionId);
  return proxy && source.rendererOf(proxy.node);
}

function nameOf(resource: object): unknown {
  return "name" in resource ? resource.name : "";
}
