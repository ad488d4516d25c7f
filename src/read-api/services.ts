/** Services: their endpoints, versions and routes, and what objects say about them. */
import type { Awaitable } from "./awaitable.ts";
import type { Effect } from "./effects.ts";
import type { Looked, Seen } from "./graph.ts";

export interface ServiceReads {
  services(): Awaitable<readonly ServiceRow[]>;
  service(id: string, looked: Looked): Awaitable<ServiceDetail | undefined>;
}

export interface ServiceRow {
  /** `namespace/host`. */
  readonly id: string;
  readonly namespace: string;
  readonly host: string;
  readonly object: string;
  readonly ports: readonly string[];
  readonly endpoints: number;
  readonly healthy: number;
}

export interface ServiceDetail extends ServiceRow, Seen {
  readonly versions: readonly Version[];
  readonly routes: readonly RouteTo[];
  /** How clients connect, and what holds for those who serve it. */
  readonly policies: readonly Effect[];
  readonly addresses: readonly string[];
  readonly endpointList: readonly EndpointRow[];
  /** Objects of users that say something about this host. */
  readonly objects: readonly { readonly object: string; readonly effect: string }[];
}

export interface EndpointRow {
  readonly address: string;
  readonly port: string;
  readonly health: string;
  readonly workload: string;
  readonly identity: string;
  readonly locality: string;
}

export interface Version {
  readonly name: string;
  readonly endpoints: number;
  readonly healthy: number;
  /** Of a subset, who declares it. */
  readonly object?: string;
  readonly field?: string;
}

/** A route that leads to a host. */
export interface RouteTo {
  readonly object: string;
  readonly field: string;
  /** Which requests take it. */
  readonly requests: string;
  /** Subsets of the host itself by their name alone. */
  readonly to: readonly { readonly name: string; readonly weight: number }[];
  /** What else it does to them: faults, timeouts, retries, mirrors. */
  readonly marks: readonly string[];
}
