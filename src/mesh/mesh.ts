/**
 * The read-only view of the mesh that rendering sees. Every look-up is recorded by the graph, so a part knows what it
 * was made from and is made again only when that has changed. Lists hold keys; contents are read member by member.
 */
import type { Graph } from "../collections/index.ts";
import type {
  AuthorizationPolicySpec,
  Config,
  DestinationRuleSpec,
  Endpoint,
  EnvoyFilterSpec,
  GatewaySpec,
  JwksSource,
  MeshConfigSpec,
  ObjectMeta,
  PeerAuthenticationSpec,
  ProxyConfigValues,
  RequestAuthenticationSpec,
  Service,
  ServicePort,
  SidecarSpec,
  TelemetrySpec,
  TrafficExtensionSpec,
  VirtualServiceSpec,
  WasmPluginSpec,
} from "../model/index.ts";
import type { Credentials } from "./credential.ts";

export interface Mesh {
  readonly graph: Graph;
  /** Cluster domain: `cluster.local`. */
  readonly domain: string;
  /** MeshConfig with Istio's defaults filled in. */
  settings(): MeshConfigSpec;

  /** As the registry has it. What one proxy sees of it (ports may be left out by a Sidecar) is `Scope.service`. */
  service(key: string): Service | undefined;
  /** Whether the service is exported to the namespace. */
  sees(namespace: string, serviceKey: string): boolean;
  /** Ready-to-send and not-ready endpoints of one port of a service, in a stable order. */
  endpoints(serviceKey: string, port: Pick<ServicePort, "name" | "port">): readonly Endpoint[];
  /** The same as endpoint discovery has it: by the port's name alone. */
  endpointsByName(serviceKey: string, portName: string): readonly Endpoint[];
  /** SPIFFE ids that serve the service, sorted: of its endpoints, and those declared. */
  identities(serviceKey: string): readonly string[];

  /** What a sidecar sees: the Sidecar object that selects it, or the default for its namespace. */
  scope(namespace: string, labels: Readonly<Record<string, string>>): Scope;
  /** What a gateway sees: every service exported to its namespace. */
  gatewayScope(namespace: string): Scope;

  /** Gateways whose selector matches the proxy, oldest first. */
  gateways(namespace: string, labels: Readonly<Record<string, string>>): readonly Config<GatewaySpec>[];
  /** VirtualServices bound to a gateway (`ns/name`, or `mesh`) and visible to the namespace, oldest first; hosts resolved, delegates merged. */
  virtualServicesForGateway(namespace: string, gateway: string): readonly Config<VirtualServiceSpec>[];
  /** The same as keys for `virtualService`: a reader of keys is left alone when a member's content changes. */
  virtualServiceKeysForGateway(namespace: string, gateway: string): readonly string[];
  /** One VirtualService, hosts resolved, delegates merged; `exportTo` as written. */
  virtualService(key: string): Config<VirtualServiceSpec> | undefined;
  /** What can be said of one without its routes: edits of those do not reach the reader. */
  virtualServiceHead(key: string): VirtualServiceHead | undefined;

  /** Effective mTLS mode of a workload's port: workload over namespace over mesh, port level first. */
  peerAuthentication(namespace: string, labels: Readonly<Record<string, string>>): PeerMtls;
  requestAuthentications(
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly Config<RequestAuthenticationSpec>[];
  authorizationPolicies(
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly Config<AuthorizationPolicySpec>[];
  /**
   * Telemetry that applies to a workload, in the order in which it overrides: the oldest mesh-wide one (root namespace,
   * no selector), the oldest namespace-wide one, then all of its namespace that select it or its Gateway, oldest first.
   */
  telemetries(namespace: string, labels: Readonly<Record<string, string>>): readonly Config<TelemetrySpec>[];
  /** Root namespace first, then the proxy's own; oldest first within each. Priority is not applied. */
  envoyFilters(namespace: string, labels: Readonly<Record<string, string>>): readonly Config<EnvoyFilterSpec>[];
  /** The proxy's own namespace first, then the root one; oldest first within each. Phase and priority are not applied. */
  wasmPlugins(namespace: string, labels: Readonly<Record<string, string>>): readonly Config<WasmPluginSpec>[];
  trafficExtensions(
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly Config<TrafficExtensionSpec>[];
  /** One by `namespace/name`, whomever it is for. */
  wasmPlugin(key: string): Config<WasmPluginSpec> | undefined;
  trafficExtension(key: string): Config<TrafficExtensionSpec> | undefined;
  /** Settings of a proxy: mesh-wide, then ProxyConfig objects (mesh, namespace), the pod's annotation, ProxyConfig objects that select it. */
  proxyConfig(
    namespace: string,
    labels: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>>,
  ): ProxyConfigValues;
  /** The keys that were fetched from there; undefined while there are none. */
  keySet(source: JwksSource): string | undefined;
  /** Certificates and keys in Secrets and ConfigMaps. Who may read them is `maySeeSecrets`. */
  readonly credentials: Credentials;
  /** Whether the account may read the Secrets of its own namespace (a SubjectAccessReview; always, offline). */
  maySeeSecrets(account: Account): boolean;
  /** Whether anything depends on the node that a client runs on. */
  usesNodes(): boolean;
  /** Keys of all services of that host, in any namespace and whoever may see them: extension providers name services so. */
  servicesOfHost(host: string): readonly string[];
}

/** Who asks for secrets: the same name in another cluster or namespace is somebody else. */
export interface Account {
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** What lists of VirtualServices are made from; edits of routes do not reach it. */
export interface VirtualServiceHead {
  readonly key: string;
  readonly meta: Pick<ObjectMeta, "name" | "creationTimestamp"> & { readonly namespace: string };
  readonly hosts: readonly string[];
  /** Translated from a Gateway API route: matched like services, and first among those of its namespace. */
  readonly gatewayApi: boolean;
  /** Has routes for TCP or TLS. */
  readonly layer4: boolean;
}

export type MtlsMode = "STRICT" | "PERMISSIVE" | "DISABLE";

export interface PeerMtls {
  readonly mode: MtlsMode;
  readonly ports: ReadonlyMap<number, MtlsMode>;
  readonly policies: readonly Config<PeerAuthenticationSpec>[];
}

/** The traffic policy for one host as a client in one namespace sees it: DestinationRules of that host merged as Istio does. */
export interface MergedDestinationRule {
  readonly spec: DestinationRuleSpec;
  readonly meta: Config<DestinationRuleSpec>["meta"];
  /** All objects that were merged, `ns/name`, first one first. */
  readonly from: readonly string[];
}

export interface Scope {
  readonly key: string;
  readonly namespace: string;
  readonly sidecar: Config<SidecarSpec> | undefined;
  /** At least one; the default scope has one that catches all. */
  readonly egress: readonly EgressScope[];
  /** Keys of all visible services over all egress listeners, oldest first. */
  readonly services: readonly string[];
  /** A service of this scope with the ports that the scope leaves it. */
  service(key: string): Service | undefined;
  /** The service of that host as this scope sees it (own namespace first, then oldest). */
  serviceFor(host: string): Service | undefined;
  /** Key of the service of that host in this scope. */
  keyFor(host: string): string | undefined;
  /**
   * For a service of this scope. Labels are those of the client workload (workloadSelector of the rule); without them
   * (inbound), rules with a workloadSelector do not count.
   */
  destinationRule(
    serviceKey: string,
    clientLabels: Readonly<Record<string, string>> | undefined,
  ): MergedDestinationRule | undefined;
  /** Hosts of ExternalName Services that are other names of this service, and visible here. */
  aliases(serviceKey: string): readonly string[];
}

export interface EgressScope {
  /** The Sidecar's egress entry; undefined for the catch-all default. */
  readonly listener: NonNullable<SidecarSpec["egress"]>[number] | undefined;
  readonly services: readonly string[];
  /** A service of this listener with the ports that the listener leaves it. */
  service(key: string): Service | undefined;
  /** Resolved VirtualServices for `mesh`, in precedence order. Reads the content of all: prefer keys and `Mesh.virtualService`. */
  readonly virtualServices: readonly Config<VirtualServiceSpec>[];
  /** Keys of the same, in the same order. */
  readonly virtualServiceKeys: readonly string[];
  /** Key of the VirtualService with the most specific host that covers this one, first in precedence among equals. */
  virtualServiceFor(host: string): string | undefined;
  aliases(serviceKey: string): readonly string[];
}
