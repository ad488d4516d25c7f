/** A service of the mesh, wherever it came from: a Kubernetes Service, or one host of a ServiceEntry. */
import type { Protocol } from "./protocol.ts";

/** How a client finds the endpoints. */
export type Resolution =
  /** Endpoints are known to the control plane (EDS). */
  | "static"
  /** Envoy asks DNS and uses all answers. */
  | "dns"
  /** Envoy asks DNS and uses the first answer per connection. */
  | "dns-round-robin"
  /** Envoy resolves the requested host at request time. */
  | "dynamic-dns"
  /** The original destination address. */
  | "passthrough"
  /** An ExternalName Service: another name for another service. */
  | "alias";

export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: Protocol;
  /** Port on the endpoints where that is a number: of a Service's targetPort, or a ServiceEntry's. */
  readonly targetPort?: number;
}

/**
 * The port that connections to a number are for. One for UDP never is, as in Istio: a service may have it beside one for
 * TCP, of the same number and in any order.
 */
export function portByNumber<P extends { readonly port: number; readonly protocol: string }>(
  ports: readonly P[],
  number: number,
): P | undefined {
  return ports.find(({ port, protocol }) => port === number && protocol !== "UDP");
}

export interface Service {
  /** The key in the collection of services: `namespace/host`, or `variantKey` where another object comes first. */
  readonly key: string;
  readonly host: string;
  readonly namespace: string;
  /** Name of the object (Service name; for a ServiceEntry its host, as Istio's telemetry has it). */
  readonly name: string;
  readonly registry: "Kubernetes" | "External";
  /** `VirtualService/ns/name`-like name of the object this came from. */
  readonly object: string;
  readonly creationTimestamp: string;
  readonly ports: readonly ServicePort[];
  readonly resolution: Resolution;
  readonly meshExternal: boolean;
  /** Cluster IPs, or the addresses (also CIDR ranges) of a ServiceEntry; empty for headless and address-less ones. */
  readonly addresses: readonly string[];
  /** Addresses that were allocated for a ServiceEntry without any (`status.addresses`). */
  readonly autoAddresses: readonly string[];
  readonly headless: boolean;
  /** As written; undefined when the mesh-wide default applies. In the collection of services that is filled in. */
  readonly exportTo: readonly string[] | undefined;
  /** As written, in the collection of services too. */
  readonly declaredExportTo?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>> | undefined;
  /** Identities that may serve it beyond those of its endpoints: subjectAltNames of a ServiceEntry, or the alternate accounts of a Service. */
  readonly serviceAccounts: readonly string[];
  /** For `alias`: the target host. */
  readonly externalName?: string;
  /** `ClusterIP`, `LoadBalancer`, …, as the Service has it. */
  readonly type?: string;
  /** Only endpoints on the client's node (internalTrafficPolicy: Local). */
  readonly nodeLocal: boolean;
  /** PreferClose and such, from the spec or the annotation; "" where unset. */
  readonly trafficDistribution:
    | ""
    | "any"
    | "prefer-close"
    | "prefer-same-zone"
    | "prefer-same-node"
    | "prefer-same-network";
  readonly publishNotReady: boolean;
  /** Header/cookie session label settings (`istio.io/persistent-session`, `…-header`). */
  readonly annotations: Readonly<Record<string, string>>;
  /** Load balancer and external IPs, for gateways of networks and statuses. */
  readonly externalAddresses: readonly string[];
}

export function serviceKey(namespace: string, host: string): string {
  return `${namespace}/${host}`;
}

/** Of several objects with one host in one namespace, those after the first. */
export function variantKey(key: string, object: string): string {
  return `${key}#${object}`;
}

/** `namespace/host` of a service with either kind of key: what endpoints are known by. */
export function hostKey(key: string): string {
  return key.split("#", 1)[0] ?? key;
}
