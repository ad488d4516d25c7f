/** The port through which the ADS server is fed. It knows proxies and encoded resources, nothing of how they are rendered. */
import type { Identity, Resource, ResourceSet, ResourceType } from "../model/index.ts";

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

/**
 * By type, the names whose resource may differ from what the session gave before. One object per class and change is
 * handed to all its streams; all types of a change are committed before it is told.
 */
export type News = ReadonlyMap<ResourceType, ReadonlySet<string>>;

export interface ResourceSource {
  /**
   * A proxy has connected. `changed` is called (after debouncing, never from inside `connect`) with what may be
   * different for this proxy; without news anything may be, as after a move to another class. Throws a FairleadError
   * `invalid` for a node that cannot be served.
   */
  connect(node: ProxyNode, identity: Identity | undefined, changed: (news?: News) => void): ProxySession;
}

export interface ProxySession {
  /** Pending while the first rendering for proxies of this class is being made; nothing is asked of it before. */
  readonly ready: Promise<void> | undefined;
  /** All resources of a type. The same set means that nothing changed; proxies of a class share it. */
  all(type: ResourceType): ResourceSet;
  /** One resource by name; of some types (workloads) there is no set of all. */
  get(type: ResourceType, name: string): Resource | undefined;
  /** The proxy does not ask for it any more, or for nothing of the type: what was kept to tell of its changes may go. */
  forget(type: ResourceType, name?: string): void;
  close(): void;
}
