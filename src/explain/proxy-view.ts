/** What one proxy has been sent, decoded as far as somebody looks. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Cluster, ClusterSchema } from "../gen/envoy/config/cluster/v3/cluster_pb.js";
import { type TypedExtensionConfig, TypedExtensionConfigSchema } from "../gen/envoy/config/core/v3/extension_pb.js";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { type Listener, ListenerSchema } from "../gen/envoy/config/listener/v3/listener_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../gen/envoy/config/route/v3/route_pb.js";
import { bytesOf, type Resource, type ResourceType, types } from "../model/index.ts";

export interface ProxyView {
  /** `pod.namespace`. */
  readonly name: string;
  readonly kind: "sidecar" | "gateway";
  readonly addresses: readonly string[];
  /** URI in its certificate. */
  readonly identity: string;
  listeners(): readonly Listener[];
  route(name: string): RouteConfiguration | undefined;
  cluster(name: string): Cluster | undefined;
  endpoints(name: string): ClusterLoadAssignment | undefined;
  extension(name: string): TypedExtensionConfig | undefined;
}

/** Where the resources come from: a renderer is one. */
export interface ResourceReader {
  all(type: ResourceType): ReadonlyMap<string, Resource>;
  get(type: ResourceType, name: string): Resource | undefined;
}

export type ProxyFacts = Pick<ProxyView, "name" | "kind" | "addresses" | "identity">;

export function createProxyView(facts: ProxyFacts, reader: ResourceReader): ProxyView {
  const decoder = <Desc extends DescMessage>(type: ResourceType, schema: Desc) => {
    const known = new Map<string, MessageShape<Desc> | undefined>();
    return (name: string): MessageShape<Desc> | undefined => {
      if (!known.has(name)) {
        const resource = reader.get(type, name);
        known.set(name, resource && fromBinary(schema, bytesOf(resource)));
      }
      return known.get(name);
    };
  };
  let listeners: readonly Listener[] | undefined;
  return {
    ...facts,
    listeners: () =>
      (listeners ??= [...reader.all(types.listener).values()].map((resource) =>
        fromBinary(ListenerSchema, bytesOf(resource)),
      )),
    route: decoder(types.route, RouteConfigurationSchema),
    cluster: decoder(types.cluster, ClusterSchema),
    endpoints: decoder(types.endpoint, ClusterLoadAssignmentSchema),
    extension: decoder(types.extension, TypedExtensionConfigSchema),
  };
}
