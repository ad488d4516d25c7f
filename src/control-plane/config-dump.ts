/** A connected proxy in; what it is sent, in the form of Envoy's own config dump, with key material redacted, out. */
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { SecretsConfigDumpSchema } from "../gen/envoy/admin/v3/config_dump_pb.js";
import {
  ClustersConfigDumpSchema,
  EndpointsConfigDumpSchema,
  ListenersConfigDumpSchema,
  RoutesConfigDumpSchema,
} from "../gen/envoy/admin/v3/config_dump_shared_pb.js";
import { SecretSchema } from "../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { bytesOf, type Resource, type ResourceType, types } from "../model/index.ts";
import { createJsonPrinter, type Renderer, withoutSharedKeys } from "../render/index.ts";
import type { Ads } from "../xds/index.ts";
import type { ControlledSource } from "./resource-source.ts";

const shown = (type: ResourceType, resource: Resource): Uint8Array =>
  type === types.listener ? withoutSharedKeys(bytesOf(resource)) : bytesOf(resource);

const dumpType = (name: string): string => `type.googleapis.com/envoy.admin.v3.${name}`;

export function createConfigDump(source: ControlledSource, ads: Ads): (connectionId: string) => Promise<unknown> {
  // Made at the first question, then kept: it loads all types.
  let printer: ReturnType<typeof createJsonPrinter> | undefined;
  return async (connectionId) => {
    const renderer = rendererOf(source, ads, connectionId);
    if (!renderer) return { configs: [] };
    printer ??= createJsonPrinter();
    const print = await printer;
    const all = (type: ResourceType): readonly object[] =>
      [...renderer.all(type).values()].map((resource) => ({ "@type": type, ...print(type, shown(type, resource)) }));
    return {
      configs: [
        {
          "@type": dumpType("ClustersConfigDump"),
          dynamicActiveClusters: all(types.cluster).map((cluster) => ({ cluster })),
        },
        {
          "@type": dumpType("ListenersConfigDump"),
          dynamicListeners: all(types.listener).map((listener) => ({
            name: nameOf(listener),
            activeState: { listener },
          })),
        },
        {
          "@type": dumpType("RoutesConfigDump"),
          dynamicRouteConfigs: all(types.route).map((routeConfig) => ({ routeConfig })),
        },
        {
          "@type": dumpType("SecretsConfigDump"),
          dynamicActiveSecrets: [...renderer.all(types.secret).keys()].map((name) => ({
            name,
            secret: { "@type": types.secret, name },
          })),
        },
        {
          "@type": dumpType("EndpointsConfigDump"),
          dynamicEndpointConfigs: all(types.endpoint).map((endpointConfig) => ({ endpointConfig })),
        },
      ],
    };
  };
}

/** The same as messages, for those who ask by xDS. */
export function createConfigDumpMessages(
  source: ControlledSource,
  ads: Ads,
): (connectionId: string) => readonly { readonly typeUrl: string; readonly bytes: Uint8Array }[] {
  return (connectionId) => {
    const renderer = rendererOf(source, ads, connectionId);
    if (!renderer) return [];
    const all = (type: ResourceType) =>
      [...renderer.all(type).values()].map((resource) => ({
        name: resource.name,
        any: { typeUrl: type, value: shown(type, resource) },
      }));
    return [
      dump(ClustersConfigDumpSchema, {
        dynamicActiveClusters: all(types.cluster).map(({ any: cluster }) => ({ cluster })),
      }),
      dump(ListenersConfigDumpSchema, {
        dynamicListeners: all(types.listener).map(({ name, any: listener }) => ({ name, activeState: { listener } })),
      }),
      dump(RoutesConfigDumpSchema, {
        dynamicRouteConfigs: all(types.route).map(({ any: routeConfig }) => ({ routeConfig })),
      }),
      dump(SecretsConfigDumpSchema, {
        dynamicActiveSecrets: all(types.secret).map(({ name }) => ({
          name,
          secret: { typeUrl: types.secret, value: toBinary(SecretSchema, create(SecretSchema, { name })) },
        })),
      }),
      dump(EndpointsConfigDumpSchema, {
        dynamicEndpointConfigs: all(types.endpoint).map(({ any: endpointConfig }) => ({ endpointConfig })),
      }),
    ];
  };
}

function dump<D extends DescMessage>(schema: D, content: MessageInitShape<D>): { typeUrl: string; bytes: Uint8Array } {
  return {
    typeUrl: `type.googleapis.com/${schema.typeName}`,
    bytes: toBinary(schema, create(schema, content)),
  };
}

/** By the connection itself: another one may claim the same node id. */
function rendererOf(source: ControlledSource, ads: Ads, connectionId: string): Renderer | undefined {
  const proxy = ads.status().find((candidate) => candidate.connectionId === connectionId);
  return proxy && source.rendererOf(proxy.node);
}

function nameOf(resource: object): unknown {
  return "name" in resource ? resource.name : "";
}
