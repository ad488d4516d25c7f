/** An Envoy resource after rendering: encoded once, handed as the same bytes to every stream that needs it. */

export const types = {
  cluster: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  endpoint: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  listener: "type.googleapis.com/envoy.config.listener.v3.Listener",
  route: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  secret: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
  extension: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
  nameTable: "type.googleapis.com/istio.networking.nds.v1.NameTable",
  /** For agents, not for Envoys: who is at an address. */
  workload: "type.googleapis.com/fairlead.workload.v1.Workload",
} as const;

export type ResourceType = (typeof types)[keyof typeof types];

export interface Resource {
  readonly name: string;
  /** The encoded message, without the Any around it. */
  readonly bytes: Uint8Array;
  /** Digest of the bytes: the resource's version. */
  readonly hash: string;
  /**
   * What must be known to Envoy before this resource is of use: for routes and listeners the clusters they name,
   * for an EDS cluster its own assignment name. The push plan holds back by it.
   */
  readonly needs: readonly string[];
}
