/** An Envoy resource after rendering: encoded once, handed as the same bytes to every stream that needs it. */
import { digest } from "../lib/index.ts";

export const types = {
  cluster: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  endpoint: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  listener: "type.googleapis.com/envoy.config.listener.v3.Listener",
  route: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  secret: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
  extension: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
  nameTable: "type.googleapis.com/istio.networking.nds.v1.NameTable",
  /** For agents: the roots that their Envoys believe. */
  proxyConfig: "type.googleapis.com/istio.mesh.v1alpha1.ProxyConfig",
  /** For agents, not for Envoys: who is at an address. */
  workload: "type.googleapis.com/fairlead.workload.v1.Workload",
} as const;

/** What Envoys are sent, what is pointed to before what points at it; the others are for agents. */
export const envoyTypes: readonly ResourceType[] = [
  types.cluster,
  types.endpoint,
  types.listener,
  types.route,
  types.secret,
  types.extension,
];

/** What an agent says of its workload on the same stream; never answered. */
export const healthType = "type.googleapis.com/istio.v1.HealthInformation";

export type ResourceType = (typeof types)[keyof typeof types];

export interface Resource {
  readonly name: string;
  /** Digest of the content: the resource's version. */
  readonly hash: string;
  /**
   * What must be known to Envoy before this resource is of use: for routes and listeners the clusters they name,
   * for an EDS cluster its own assignment name. The push plan holds back by it.
   */
  readonly needs: readonly string[];
  /**
   * The encoded message, without the Any around it, in pieces that follow each other on the wire. Resources may share
   * pieces: a route configuration is a list of virtual hosts that is put together only while it is written.
   */
  readonly pieces: readonly Uint8Array[];
  /** Bytes of all pieces. */
  readonly size: number;
  /** Of a route configuration only: the same taken apart, for proxies that are sent virtual hosts one by one. */
  readonly hosts?: () => RouteParts;
}

/** A route configuration without its virtual hosts, and these by themselves. */
export interface RouteParts {
  readonly rest: Uint8Array;
  /** Named `ROUTE/HOST`, as is the virtual host inside. The same array for all that have the same hosts but for a few. */
  readonly hosts: readonly Resource[];
  /** These few, by the place that they have instead of the list's own. */
  readonly instead: ReadonlyMap<number, Resource>;
}

/** All hosts in their order. */
export function routeHosts({ hosts, instead }: Omit<RouteParts, "rest">): readonly Resource[] {
  if (instead.size === 0) return hosts;
  const all = [...hosts];
  for (const [i, host] of instead) all[i] = host;
  return all;
}

/** Envoy finds the configuration by what is before the last slash. */
export const routeHostName = (route: string, host: string): string => `${route}/${host.replaceAll("/", "_")}`;

/** A resource of one piece. */
export function encodedResource(name: string, bytes: Uint8Array, needs: readonly string[] = []): Resource {
  return { name, hash: digest(bytes), needs, pieces: [bytes], size: bytes.length };
}

/** The whole message, for those who print or decode it; streams write the pieces. */
export function bytesOf({ pieces }: Pick<Resource, "pieces">): Uint8Array {
  const [first] = pieces;
  return first && pieces.length === 1 ? first : Buffer.concat(pieces);
}
