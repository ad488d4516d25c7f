/** The port through which the ADS server is fed. It knows proxies and encoded resources, nothing of how they are rendered. */
import type { Identity, Resource, ResourceType } from "../model/index.ts";

/** What a proxy said of itself in its first request, decoded and bounded. */
export interface ProxyNode {
  readonly id: string;
  readonly cluster: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly locality: { readonly region: string; readonly zone: string; readonly subZone: string };
  /** Names of the extensions compiled into the Envoy; empty where the client lists none. */
  readonly extensions: ReadonlySet<string>;
  /** `envoy 1.40.0` and such; empty where unknown. */
  readonly userAgent: string;
}

export interface ResourceSource {
  /**
   * A proxy has connected. `changed` is called (after debouncing, never from inside `connect`) with the types whose
   * resources for this proxy may have changed. Throws a FairleadError `invalid` for a node that cannot be served.
   */
  connect(
    node: ProxyNode,
    identity: Identity | undefined,
    changed: (types: ReadonlySet<ResourceType>) => void,
  ): ProxySession;
}

export interface ProxySession {
  /**
   * All resources of a wildcard type (clusters, listeners, name table), by name. The map is never changed once handed
   * out: the same map means that nothing changed, and proxies of a class that get the same map share it.
   */
  all(type: ResourceType): ReadonlyMap<string, Resource>;
  /** One resource by name (endpoints, routes, secrets, extensions; others too). */
  get(type: ResourceType, name: string): Resource | undefined;
  close(): void;
}
