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

/** Messages by the resource that they were decoded from, for all who look. */
export interface Decoded {
  of<Desc extends DescMessage>(schema: Desc, resource: Resource): MessageShape<Desc>;
  clear(): void;
}

/** A resource is the same object for as long as it is the same; with it goes what was decoded. */
export function createDecoded(): Decoded {
  let known = new WeakMap<Resource, unknown>();
  return {
    of<Desc extends DescMessage>(schema: Desc, resource: Resource) {
      const before = known.get(resource) as MessageShape<Desc> | undefined;
      const message = before ?? fromBinary(schema, bytesOf(resource));
      known.set(resource, message);
      return message;
    },
    clear() {
      known = new WeakMap();
    },
  };
}

export function createProxyView(facts: ProxyFacts, reader: ResourceReader, decoded = createDecoded()): ProxyView {
  const decoder =
    <Desc extends DescMessage>(type: ResourceType, schema: Desc) =>
    (name: string): MessageShape<Desc> | undefined => {
      const resource = reader.get(type, name);
      return resource && decoded.of(schema, resource);
    };
  let listeners: readonly Listener[] | undefined;
  return {
    ...facts,
    listeners: () =>
      (listeners ??= [...reader.all(types.listener).values()].map((one) => decoded.of(ListenerSchema, one))),
    route: decoder(types.route, RouteConfigurationSchema),
    cluster: decoder(types.cluster, ClusterSchema),
    endpoints: decoder(types.endpoint, ClusterLoadAssignmentSchema),
    extension: decoder(types.extension, TypedExtensionConfigSchema),
  };
}
