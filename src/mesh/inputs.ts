/** What the mesh is made of: the registry's services and the decoded config objects, as collections. */
import type { Collection } from "../collections/index.ts";
import type {
  AuthorizationPolicySpec,
  Config,
  DestinationRuleSpec,
  Endpoint,
  EnvoyFilterSpec,
  GatewaySpec,
  KubeObject,
  MeshConfigSpec,
  PeerAuthenticationSpec,
  ProxyConfigSpec,
  RequestAuthenticationSpec,
  Service,
  SidecarSpec,
  TelemetrySpec,
  TrafficExtensionSpec,
  VirtualServiceSpec,
  WasmPluginSpec,
} from "../model/index.ts";
import type { CredentialRead } from "./credential.ts";
import type { Account } from "./mesh.ts";

export interface MeshConfigs {
  readonly virtualServices: Collection<Config<VirtualServiceSpec>>;
  readonly destinationRules: Collection<Config<DestinationRuleSpec>>;
  readonly gateways: Collection<Config<GatewaySpec>>;
  readonly sidecars: Collection<Config<SidecarSpec>>;
  readonly peerAuthentications: Collection<Config<PeerAuthenticationSpec>>;
  readonly requestAuthentications: Collection<Config<RequestAuthenticationSpec>>;
  readonly authorizationPolicies: Collection<Config<AuthorizationPolicySpec>>;
  readonly telemetries: Collection<Config<TelemetrySpec>>;
  readonly envoyFilters: Collection<Config<EnvoyFilterSpec>>;
  readonly wasmPlugins: Collection<Config<WasmPluginSpec>>;
  readonly trafficExtensions: Collection<Config<TrafficExtensionSpec>>;
  readonly proxyConfigs: Collection<Config<ProxyConfigSpec>>;
}

export interface MeshInputs {
  readonly domain: string;
  settings(): MeshConfigSpec;
  /** By `namespace/host`; `exportTo` has the mesh's default filled in. */
  readonly services: Collection<Service>;
  endpoints(serviceKey: string): readonly Endpoint[];
  readonly configs: MeshConfigs;
  /** Generations before of EnvoyFilters, by keys of their own, for proxies that refuse the newest. */
  readonly keptEnvoyFilters?: Collection<Config<EnvoyFilterSpec>>;
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  /** Told of each certificate that is read for a proxy. */
  onCredential?(read: CredentialRead): void;
  /** Fetched key sets by `jwksKey`, a collection where they change; absent: none. */
  readonly keySets?: { get(key: string): string | undefined };
  /** Recorded by whoever answers; absent: everybody may. */
  maySeeSecrets?(account: Account): boolean;
}
