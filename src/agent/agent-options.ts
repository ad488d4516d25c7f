/** What an agent needs to know, whole. */
import type { Logger, Overload, SilenceLimits } from "../lib/index.ts";
import type { ProxyConfigValues, ProxyType } from "../model/index.ts";
import type { KeyAlgorithm } from "../pki/index.ts";
import type { RpcClientOptions } from "../rpc/index.ts";
import type { AppMetrics } from "./app-metrics.ts";
import type { AppProbe } from "./app-probe.ts";
import type { BootstrapOptions } from "./bootstrap/context.ts";
import type { DnsProxyOptions } from "./dns/dns-proxy.ts";
import type { WasmOptions } from "./wasm/remote-modules.ts";

export interface AgentOptions {
  readonly type: ProxyType;
  /** All relative paths, the agent's and Envoy's, start here. */
  readonly workDir: string;
  readonly proxyConfig: ProxyConfigValues;
  /** False where the application is its own proxy (DISABLE_ENVOY). */
  readonly runsEnvoy: boolean;
  /** Where applications that are xDS clients themselves find the agent; undefined: nowhere. */
  readonly grpc: GrpcPlace | undefined;
  /** How remote Wasm modules are had; undefined leaves their addresses to Envoy. */
  readonly wasm: WasmOptions | undefined;
  readonly envoyBinary: string;
  readonly bootstrap: BootstrapOptions;
  readonly discovery: Endpoint & { readonly plaintext: boolean };
  readonly ca: Endpoint;
  /** Which of the signers behind the CA is meant; empty for the usual one. */
  readonly certSigner: string;
  /** Further headers of the calls to the CA (CA_HEADER_…). */
  readonly caHeaders: Readonly<Record<string, string>>;
  /** Empty for none, where a client certificate or nothing is asked for. */
  readonly tokenFile: string;
  /** Where a machine has a certificate from before (PROV_CERT), which is shown beside the token or in its place. */
  readonly certificateFolder: string | undefined;
  /** Where the certificate and its key are written to for others (OUTPUT_CERTS); nowhere by default. */
  readonly certificateFiles: { readonly folder: string; readonly mode: number } | undefined;
  /** Where somebody else (SPIRE) may serve identities in place of the agent. */
  readonly foreignSdsSocket: string;
  /** The agent's own; the sockets of the bootstrap are in a folder inside it. */
  readonly socketsFolder: string;
  /** How often the control plane is told what was counted of requests (FAIRLEAD_REPORT_INTERVAL); zero for never. */
  readonly reportIntervalMs: number;
  readonly xdsHeaders: Readonly<Record<string, string>>;
  readonly identityUri: string;
  readonly keyAlgorithm: KeyAlgorithm;
  readonly certificateTtlMs: number;
  readonly rotation: { readonly graceRatio: number; readonly graceJitter: number };
  readonly extraRoots: string;
  /** Where the mesh's CA tells what it has revoked; undefined where nobody looks (PILOT_ENABLE_CA_CRL). */
  readonly revokedFile: string | undefined;
  readonly statusHost: string;
  readonly localhost: string;
  readonly ipv6Only: boolean;
  readonly appProbes: ReadonlyMap<string, AppProbe>;
  readonly appAddress: string;
  /** Where the application shows metrics of its own. */
  readonly appMetrics: AppMetrics | undefined;
  /** Where the Pod's questions about names are answered; undefined leaves them to the Pod's own servers. */
  readonly dns: Omit<DnsProxyOptions, "names" | "random" | "log"> | undefined;
  readonly proxyLogLevel: string;
  readonly proxyComponentLogLevel: string;
  readonly skipDeprecatedLogs: boolean;
  readonly terminationDrainMs: number;
  readonly exitWhenIdle: { readonly minimumMs: number; readonly except: ReadonlySet<string> } | undefined;
  /** pilot-agent ends with its Envoy; a supervisor without restarts may want another one started. */
  readonly onEnvoyExit: "exit" | "restart";
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
  /** When an Envoy that does not answer is replaced. */
  readonly envoySilence?: SilenceLimits;
  /** Says when memory or descriptors run out: what cannot be served is then refused. */
  readonly overload?: Overload;
  /** Takes Envoy's output line by line; without it Envoy writes to our own output. */
  readonly writeEnvoyLine?: (line: string) => void;
}

export interface GrpcPlace {
  readonly bootstrapFile: string;
  readonly fileMode: number;
  readonly xdsSocket: string;
  readonly socketMode: number;
}

export interface Endpoint {
  readonly target: RpcClientOptions["target"];
  readonly rootFile: string;
  /** Undefined goes by the target's own name. */
  readonly serverName: string | undefined;
}
