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
  ProxyType,
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
  endpoints(serviceKey: string, port: Pick<ServicePort, "name" | "port" | "protocol">): readonly Endpoint[];
  /** The same as endpoint discovery has it: by the port's name alone. */
  endpointsByName(serviceKey: string, portName: string): readonly Endpoint[];
  /** SPIFFE ids that serve the service, sorted: of its endpoints, and those declared. */
  identities(serviceKey: string): readonly string[];

  /** Which objects choose a workload. */
  readonly selection: Selection;
  readonly clientLabels: ClientLabels;

  /** What a sidecar sees: the Sidecar object that selects it, or the default for its namespace. */
  scope(namespace: string, labels: Readonly<Record<string, string>>): Scope;
  /** The same where the key of its Sidecar is known; "" for none. */
  sidecarScope(namespace: string, sidecarKey: string): Scope;
  /** What a gateway sees: every service exported to its namespace. */
  gatewayScope(namespace: string): Scope;
  /** What is seen from a namespace that nobody names: the common part of all scopes that have no Sidecar. */
  publicScope(type: ProxyType): Scope;
  /** Keys of the services at sidecars' public listener whose host is this one in lower case, in the order of that listener. */
  publicServicesNamed(host: string): readonly string[];

  sidecar(key: string): Config<SidecarSpec> | undefined;
  gateway(key: string): Config<GatewaySpec> | undefined;
  /** VirtualServices bound to a gateway (`ns/name`, or `mesh`) and visible to the namespace, oldest first; hosts resolved, delegates merged. */
  virtualServicesForGateway(namespace: string, gateway: string): readonly Config<VirtualServiceSpec>[];
  /** The same as keys for `virtualService`: a reader of keys is left alone when a member's content changes. */
  virtualServiceKeysForGateway(namespace: string, gateway: string): readonly string[];
  /** One VirtualService, hosts resolved, delegates merged; `exportTo` as written. */
  virtualService(key: string): Config<VirtualServiceSpec> | undefined;
  /** What can be said of one without its routes: edits of those do not reach the reader. */
  virtualServiceHead(key: string): VirtualServiceHead | undefined;
  /** The services that it sends to. */
  virtualServiceTargets(key: string): readonly RouteTarget[];

  /** Effective mTLS mode of a workload's port: workload over namespace over mesh, port level first. */
  peerAuthentication(namespace: string, labels: Readonly<Record<string, string>>): PeerMtls;
  /** The same from the policies' keys. */
  peerMtls(policies: readonly string[]): PeerMtls;
  requestAuthentication(key: string): Config<RequestAuthenticationSpec> | undefined;
  authorizationPolicy(key: string): Config<AuthorizationPolicySpec> | undefined;
  telemetry(key: string): Config<TelemetrySpec> | undefined;
  envoyFilter(key: string): Config<EnvoyFilterSpec> | undefined;
  /** Merged DestinationRules by the reference that a scope gave. */
  rule(ref: string): MergedDestinationRule | undefined;
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
  /**
   * As extension providers name services: `namespace/host`, or a host that exists in one namespace only, whoever may see
   * it; undefined where it is unknown or ambiguous.
   */
  serviceNamed(name: string): Service | undefined;
}

/** Who asks for secrets: the same name in another cluster or namespace is somebody else. */
export interface Account {
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** A service that a VirtualService sends to. */
export interface RouteTarget {
  readonly host: string;
  /** 0: any port. */
  readonly port: number;
  /** Clients' namespaces that the route is for; undefined: all. */
  readonly from: readonly string[] | undefined;
}

/** What lists of VirtualServices are made from; edits of routes do not reach it. */
export interface VirtualServiceHead {
  readonly key: string;
  readonly meta: Pick<ObjectMeta, "name" | "creationTimestamp"> & { readonly namespace: string };
  readonly hosts: readonly string[];
  /** Translated from a Gateway API route: matched like services, and first among those of its namespace. */
  readonly gatewayApi: boolean;
  /** Whose rules a translated object follows; undefined for what users wrote. */
  readonly semantics: string | undefined;
  /** Has routes for TCP or TLS. */
  readonly layer4: boolean;
  /** Some match asks where traffic comes from: labels or namespaces. */
  readonly sourced: boolean;
  readonly sourceNamespaces: readonly string[];
  /** Some HTTP route has no match: there is a route for every client on every port. */
  readonly unconditional: boolean;
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

/** What the client side finds in labels: all of them that may tell clients apart. */
export interface ClientLabels {
  /**
   * The union of all client-side selectors that match: rules of the namespace, sources of routes. It answers each of
   * them exactly as the labels do, and clients that the same selectors match have the same union.
   */
  selected(namespace: string, labels: Labels): Labels;
  /** Labels that are compared by value with those of endpoints. */
  places(labels: Labels): Labels;
}

/** The keys of the objects that choose a workload, each list in the order in which its kind counts. */
export interface Selection {
  /** Key of the Sidecar; "" for none. */
  sidecar(namespace: string, labels: Labels): string;
  /** The proxy's own namespace first, then the root one; oldest first within each. */
  peerAuthentications(namespace: string, labels: Labels): readonly string[];
  requestAuthentications(namespace: string, labels: Labels): readonly string[];
  /** The root namespace first. */
  authorizationPolicies(namespace: string, labels: Labels): readonly string[];
  /**
   * In the order in which they override: the oldest mesh-wide one (root namespace, no selector), the oldest
   * namespace-wide one, then all of its namespace that select it or its Gateway, oldest first.
   */
  telemetries(namespace: string, labels: Labels): readonly string[];
  /** Root namespace first, then the proxy's own; oldest first within each. Priority is not applied. */
  envoyFilters(namespace: string, labels: Labels): readonly string[];
  /** `WasmPlugin/…` and `TrafficExtension/…`: own namespace first, oldest first. Phase and priority are not applied. */
  extensions(namespace: string, labels: Labels): readonly string[];
  /** Oldest first. */
  gateways(labels: Labels): readonly string[];
}

type Labels = Readonly<Record<string, string>>;

export interface Scope {
  readonly key: string;
  readonly namespace: string;
  /** Services and routes are those of the public scope; rules may differ for `ownRuleHosts`. */
  readonly isPublic: boolean;
  /** Hosts, wildcards too, for which the rule may be another than in the public scope. */
  readonly ownRuleHosts: readonly string[];
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
  destinationRule(serviceKey: string, clientLabels: Labels | undefined): MergedDestinationRule | undefined;
  /** The reference of that rule, for `Mesh.rule`: edits of the rule do not reach the reader. */
  ruleRef(serviceKey: string, clientLabels: Labels | undefined): string | undefined;
  /** Hosts of ExternalName Services that are other names of this service, and visible here. */
  aliases(serviceKey: string): readonly string[];
  readonly table: ScopeTable;
}

/** The same for those who go through all of a scope: the reader depends on it as a whole, and one read is recorded for all. */
export interface ScopeTable {
  service(key: string): Service | undefined;
  keyFor(host: string): string | undefined;
  /** Which ports of a service are left: "" for all, else `80` or, where another object that shares the host has it, `80@key`. */
  portsLeft(serviceKey: string): string;
  ruleRef(serviceKey: string, clientLabels: Labels | undefined): string | undefined;
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
  readonly table: Pick<ScopeTable, "service">;
}
