/** What the control plane is started with. */
import type { ClusterAccess } from "../kube/index.ts";
import type { Logger, LogScopes, Overload } from "../lib/index.ts";
import type { IssuerRule } from "./issuer-judge.ts";
import type { FleetRuntime } from "./render-ahead.ts";
import type { CaFolder, RotationPace, TrustOptions } from "./trust/index.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface DiscoveryAddresses {
  readonly grpc: Address;
  readonly secureGrpc: Address;
  readonly monitoring: Address;
  readonly https: Address;
  readonly http: Address;
  /** ControlZ; nobody is refused anything else where it cannot be had. */
  readonly controlz?: Address;
  /** The page, where there is to be one. */
  readonly dashboard?: Address;
}

export interface DashboardSettings {
  /** Of the built page. */
  readonly folder: string;
  /** Proves who may see all of it. Of all others the API says who they are, and what they may see. */
  readonly secret?: Uint8Array;
  /** Names by which it may be asked for, beside those of the machine. */
  readonly hosts?: readonly string[];
  /** Where the last changes are kept for the next start; absent: nowhere. */
  readonly historyFile?: string;
  /** Absent: the page is for reading. What is written is written with credentials of whoever does so. */
  readonly edit?: {
    /** Of who holds the secret. */
    readonly ownerAccess?: ClusterAccess;
  };
}

export interface DiscoveryOptions {
  /** Used where there is an address for it. */
  readonly dashboard?: DashboardSettings;
  readonly access: ClusterAccess;
  readonly addresses: DiscoveryAddresses;
  /** Further addresses for the TLS port, and names that its certificate must cover. */
  readonly extraSecure: readonly Address[];
  readonly domain: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly revision: string;
  /** Unique among all control planes on this API: the Pod's name. Locks are held under it. */
  readonly identity: string;
  /** False: this is the only control plane, so it need not ask anybody before it writes (ENABLE_LEADER_ELECTION). */
  readonly leaderElection?: boolean;
  /** Whether verdicts on users' objects are written to their statuses (PILOT_ENABLE_ANALYSIS). */
  readonly analysis: boolean;
  /** False: objects' statuses do not say which proxies have them (PILOT_ENABLE_STATUS). */
  readonly programmedStatus?: boolean;
  /** Compares, after each change, what proxies have with what a fresh start would give (FAIRLEAD_CHECK_INCREMENTAL). */
  readonly checkIncremental?: boolean;
  /** What tokens of the API must be for (TOKEN_AUDIENCES); `istio-ca` by default. */
  readonly tokenAudiences?: readonly string[];
  /** Others whose tokens are believed (JWT_RULE, TOKEN_ISSUER). */
  readonly issuers?: readonly IssuerRule[];
  /** Life of workload certificates: where none is asked for, and at most. */
  readonly certificates?: { readonly defaultTtlMs: number; readonly maxTtlMs: number };
  /** False: the mesh's CA is elsewhere, and agents ask it themselves (ENABLE_CA_SERVER). */
  readonly hasOwnCa?: boolean;
  /** Signs for workloads, through the API, in place of the mesh's own CA (EXTERNAL_CA). */
  readonly externalCa?: TrustOptions["external"];
  /** The control plane's own certificate, where somebody else gives it. */
  readonly servingFiles?: TrustOptions["servingFiles"];
  /** Where users may have put a CA (a mounted Secret `cacerts`); without one the mesh has one of its own. */
  readonly caFolder?: CaFolder;
  /**
   * ConfigMap by which proxies are told what a plugged-in CA has revoked (PILOT_CRL_CONFIGMAP). Empty: nobody is told, and
   * it does not count here either (PILOT_ENABLE_CA_CRL).
   */
  readonly revokedMap?: string;
  /** How fast a root rotation goes. */
  readonly rotationPace?: Partial<RotationPace>;
  /** Told who may come. What starting has left behind is collected before the ports open. */
  readonly runtime?: FleetRuntime;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
  /** False: where endpoints change, proxies are told at once (PILOT_ENABLE_EDS_DEBOUNCE). */
  readonly debounceEndpoints?: boolean;
  /** How many proxies are written to at the same time (PILOT_PUSH_THROTTLE); a value of our own where absent. */
  readonly pushThrottle?: number;
  /** Whether Envoys that can are sent virtual hosts one by one (PILOT_ENABLE_VHDS). */
  readonly virtualHosts?: boolean;
  /** Routes for the mesh hold only for hosts of their own namespace (FAIRLEAD_OWN_HOSTS_ONLY). */
  readonly ownHostsOnly?: boolean;
  /** Workloads outside Kubernetes; all by default. */
  readonly registration?: {
    readonly graceMs: number;
    readonly enabled: { readonly registration: boolean; readonly health: boolean };
    /** False: whoever is let in may be any entry of its group (ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY). */
    readonly validateIdentity: boolean;
  };
  /** False: nothing is made for Gateway API Gateways (PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER). */
  readonly gatewayDeployments?: boolean;
  /** Headers of requests that may be looked at live (FAIRLEAD_TAP_HEADERS); none by default. */
  readonly tapHeaders?: readonly string[];
  readonly keySets?: {
    /** Addresses that keys are never fetched from, beside those that never are. */
    readonly blockedRanges: readonly string[];
    readonly refreshMs: number;
    /** Further roots that key servers may have, as PEM. */
    readonly extraRoots?: string;
  };
  readonly injection: {
    /** `true`, `false`, or `auto`: where all nodes can. */
    readonly nativeSidecars: string;
    readonly compliancePolicy: string;
    /** `openshift` where namespaces have users of their own. */
    readonly platform: string;
  };
  /** Says when memory or descriptors run out: what cannot be served is then refused. */
  readonly overload?: Overload;
  /** How often whoever started this control plane had to start it again. */
  readonly restarts?: number;
  readonly log: Logger;
  /** Levels of that log, which ControlZ changes. */
  readonly logScopes?: LogScopes;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}
