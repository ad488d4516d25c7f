/** Where the HTTP routes of a VirtualService are put: what translating them depends on beside the VirtualService itself. */
import type { Destination, HTTPRetry } from "../../model/index.ts";
import type { ServiceLookup } from "./destination.ts";
import type { ConsistentHash } from "./hash-policy.ts";
import type { RouteSemantics } from "./semantics.ts";

/** What decides which of the routes are for a proxy at all. */
export interface RouteSource {
  /** Port of the listener; 0 for listeners that serve all ports. */
  readonly port: number;
  /** `mesh`, or the name of the gateway. */
  readonly gateway: string;
  /** Fields of matches that are for other clients. */
  readonly excluded: readonly string[];
}

export interface RoutePlace extends RouteSource {
  readonly tls: boolean;
  readonly semantics: RouteSemantics;
  readonly appendXForwardedHost: boolean;
  /** For gRPC clients, not for an Envoy. */
  readonly proxyless: boolean;
  readonly defaultRetry: HTTPRetry | undefined;
  readonly serviceOf: ServiceLookup;
  readonly hashOf: (destination: Destination) => ConsistentHash | undefined;
}
