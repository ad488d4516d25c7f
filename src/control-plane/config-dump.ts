/** A connected proxy in; what it is sent, in the form of Envoy's own config dump, with key material redacted, out. */
import { type Resource, type ResourceType, types } from "../model/index.ts";
import { createJsonPrinter } from "../render/index.ts";
import type { Ads } from "../xds/index.ts";
import type { ControlledSource } from "./resource-source.ts";

const dumpType = (name: string): string => `type.googleapis.com/envoy.admin.v3.${name}`;

export function createConfigDump(source: ControlledSource, ads: Ads): (connectionId: string) => Promise<unknown> {
  return async (connectionId) => {
    const proxy = ads.status().find((candidate) => candidate.connectionId === connectionId);
    const renderer = proxy && source.rendererOf(proxy.node.id);
    if (!renderer) return { configs: [] };
    const print = await createJsonPrinter();
    const all = (type: ResourceType): readonly object[] =>
      [...renderer.all(type).values()].map((resource: Resource) => ({ "@type": type, ...print(type, resource.bytes) }));
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

function nameOf(resource: object): unknown {
  return "name" in resource ? resource.name : "";
}
