/** pilot-agent's environment, arguments and mounted files in, one whole set of options out; nobody else reads the environment. */
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { FairleadError, parseDurationMs, parseIp } from "../lib/index.ts";
import {
  defaultProxyConfig,
  istioVersion,
  type ProxyConfigValues,
  type ProxyType,
  reportIntervalMs,
} from "../model/index.ts";
import type { KeyAlgorithm } from "../pki/index.ts";
import type { AgentMachine } from "./agent-machine.ts";
import type { AgentOptions, GrpcPlace } from "./agent-options.ts";
import { parseAppMetrics } from "./app-metrics.ts";
import { parseAppProbes } from "./app-probe.ts";
import type { BootstrapOptions } from "./bootstrap/context.ts";
import { buildNode, type Node, parseDownwardApi } from "./bootstrap/node.ts";
import { loadProxyConfig } from "./bootstrap/proxy-config.ts";
import { parseResolvConf } from "./dns/resolv-conf.ts";
import {
  type AgentFlags,
  createEnvReader,
  type Environment,
  type EnvReader,
  parseAgentFlags,
  parseHostPort,
} from "./env-reader.ts";
import type { WasmOptions } from "./wasm/remote-modules.ts";

const identityFolder = "./var/run/secrets/workload-spiffe-uds";
const thirdPartyToken = "./var/run/secrets/tokens/istio-token";
const firstPartyToken = "./var/run/secrets/kubernetes.io/serviceaccount/token";
const socketsFolder = "sockets";
const dayMs = 24 * 3_600_000;

/** What the parts below read. */
interface Source {
  readonly env: Environment;
  readonly read: EnvReader;
  readonly flags: AgentFlags;
  readonly machine: AgentMachine;
  readonly type: ProxyType;
  readonly namespace: string;
  readonly addresses: readonly string[];
  readonly proxyConfig: ProxyConfigValues;
  readonly podAnnotations: Readonly<Record<string, string>> | undefined;
  readonly discoveryAddress: string;
  readonly socketFile: string;
  readonly statusPort: number;
  readonly prometheusPort: number;
}

/** Throws `usage` or `invalid`, naming the variable or argument. */
export function agentOptionsFromEnv(env: Environment, argv: readonly string[], machine: AgentMachine): AgentOptions {
  const source = readSource(env, argv, machine);
  const { read, flags, type, addresses, proxyConfig, prometheusPort, statusPort } = source;
  const ipv6Only = addresses.every((address) => isIPv6(address));
  const localhost = ipv6Only ? "::1" : "127.0.0.1";
  const bootstrap = bootstrapOptions(source);
  const minimumMs = read.durationMs("MINIMUM_DRAIN_DURATION", 5000);
  const idle = { minimumMs, except: ownListeners([statusPort, prometheusPort]) };
  return {
    type,
    workDir: machine.workDir,
    proxyConfig,
    runsEnvoy: runsEnvoy(read),
    grpc: grpcPlace(source, bootstrap.xdsSocket),
    wasm: read.bool("ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION", true) ? wasmOptions(read) : undefined,
    envoyBinary: envoyBinary(proxyConfig, env),
    bootstrap,
    ...endpoints(source),
    ...identityOptions(source),
    foreignSdsSocket: `${identityFolder}/${source.socketFile}`,
    socketsFolder: `${configFolder(proxyConfig)}/${socketsFolder}`,
    reportIntervalMs: reportInterval(read),
    xdsHeaders: headersFrom(env, "XDS_HEADER_"),
    caHeaders: headersFrom(env, "CA_HEADER_"),
    certSigner: read.text("ISTIO_META_CERT_SIGNER", ""),
    statusHost: ipv6Only ? "::" : "0.0.0.0",
    localhost,
    ipv6Only,
    appProbes: parseAppProbes(env.ISTIO_KUBE_APP_PROBERS),
    appAddress: addresses[0] ?? localhost,
    appMetrics: parseAppMetrics(env.ISTIO_PROMETHEUS_ANNOTATIONS, source.podAnnotations ?? {}, [
      proxyConfig.statusPort ?? 15020,
      proxyConfig.proxyAdminPort ?? 15000,
      prometheusPort,
    ]),
    dns: bootstrap.node.metadata.DNS_CAPTURE === "true" ? dnsOptions(source) : undefined,
    proxyLogLevel: flags.get("proxyLogLevel") ?? "warning",
    proxyComponentLogLevel: flags.get("proxyComponentLogLevel") ?? "",
    skipDeprecatedLogs: skipDeprecatedLogs(read),
    terminationDrainMs: parseDurationMs(proxyConfig.terminationDrainDuration ?? "5s") ?? 5000,
    exitWhenIdle: exitWhenIdle(read) ? idle : undefined,
    onEnvoyExit: "exit",
    env,
    now: machine.now,
    random: machine.random,
    log: machine.log,
  };
}

/** Not so often that the control plane would refuse it. */
function reportInterval(read: EnvReader): number {
  const ms = read.durationMs("FAIRLEAD_REPORT_INTERVAL", reportIntervalMs);
  return ms <= 0 ? 0 : Math.max(1000, ms);
}

function readSource(env: Environment, argv: readonly string[], machine: AgentMachine): Source {
  const flags = parseAgentFlags(argv);
  const read = createEnvReader(env);
  const podAnnotations = downward(machine.readFile("./etc/istio/pod/annotations"));
  const proxyConfig = loadProxyConfig({
    meshFile: machine.readFile(flags.get("meshConfig") ?? "./etc/istio/config/mesh"),
    env: env.PROXY_CONFIG,
    annotations: podAnnotations ?? {},
    cpuLimit: read.number("ISTIO_CPU_LIMIT", 0),
    concurrency: Number(flags.get("concurrency") ?? 0),
  });
  return {
    env,
    read,
    flags,
    machine,
    type: proxyType(flags.positional[0] ?? "sidecar"),
    // A machine has cluster.env in its environment, where Pods have more.
    namespace: read.text("POD_NAMESPACE", read.text("ISTIO_NAMESPACE", "")),
    addresses: proxyAddresses(read.text("INSTANCE_IP", read.text("ISTIO_SVC_IP", "")), machine.addresses),
    proxyConfig,
    podAnnotations,
    discoveryAddress: proxyConfig.discoveryAddress ?? "istiod.istio-system.svc:15012",
    socketFile: read.text("WORKLOAD_IDENTITY_SOCKET_FILE", "socket"),
    statusPort: read.number("ENVOY_STATUS_PORT", 15021),
    prometheusPort: read.number("ENVOY_PROMETHEUS_PORT", 15090),
  };
}

const runsEnvoy = (read: EnvReader): boolean => !read.bool("DISABLE_ENVOY", false);

/**
 * Where pilot-agent has them. The application's container runs as another user; and without an Envoy that could be led
 * there, the socket may be where everybody expects it.
 */
function grpcPlace({ env, read, proxyConfig }: Source, hiddenSocket: string): GrpcPlace | undefined {
  const folder = configFolder(proxyConfig);
  const alone = !runsEnvoy(read);
  if (!alone && !env.GRPC_XDS_BOOTSTRAP) return undefined;
  const isPod = Boolean(env.KUBERNETES_SERVICE_HOST);
  return {
    bootstrapFile: read.text("GRPC_XDS_BOOTSTRAP", `${folder}/grpc-bootstrap.json`),
    fileMode: isPod ? 0o644 : 0o600,
    xdsSocket: alone ? `${folder}/XDS` : hiddenSocket,
    socketMode: alone && isPod ? 0o666 : 0o600,
  };
}

const configFolder = ({ configPath }: ProxyConfigValues): string => configPath ?? "./etc/istio/proxy";
const exitWhenIdle = (read: EnvReader): boolean => read.bool("EXIT_ON_ZERO_ACTIVE_CONNECTIONS", false);
const skipDeprecatedLogs = (read: EnvReader): boolean => read.bool("ENVOY_SKIP_DEPRECATED_LOGS", true);

function bootstrapOptions(source: Source): BootstrapOptions {
  const { read, flags, machine, proxyConfig, addresses } = source;
  // An Envoy can be led to any socket whose path is known, these included: one gives out its keys.
  const sockets = `${configFolder(proxyConfig)}/${socketsFolder}/${machine.secretName}`;
  return {
    node: nodeOf(source),
    proxyConfig,
    addresses,
    sdsSocket: `${sockets}/SDS`,
    xdsSocket: `${sockets}/XDS`,
    telemetrySocket: `${sockets}/TELEMETRY`,
    adminSocket: `${sockets}/ADMIN`,
    readinessSocket: `${sockets}/READY`,
    mergedMetricsSocket: `${sockets}/METRICS`,
    compliancePolicy: read.text("COMPLIANCE_POLICY", ""),
    dualStack: read.bool("ISTIO_DUAL_STACK", false),
    logAsJson: flags.get("log_as_json") === "true",
    deltaXds: read.bool("ISTIO_DELTA_XDS", true),
    statusProxyProtocol: read.bool("ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL", false),
    stripFragment: read.bool("HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED", true),
    hostIp: read.text("HOST_IP", ""),
    log: machine.log,
  };
}

function nodeOf(source: Source): Node {
  const { env, read, flags, machine, type, namespace, addresses, proxyConfig } = source;
  const domain = flags.get("domain") || `${namespace}.svc.cluster.local`;
  const { host } = parseHostPort(source.discoveryAddress, "discoveryAddress");
  const discovery = env.PEER_METADATA_DISCOVERY ? read.bool("PEER_METADATA_DISCOVERY", false) : undefined;
  return buildNode({
    id: [type, addresses[0] ?? "", `${read.text("POD_NAME", machine.hostname)}.${namespace}`, domain].join("~"),
    env,
    addresses,
    proxyConfig,
    podLabels: downward(machine.readFile("./etc/istio/pod/labels")),
    podAnnotations: source.podAnnotations,
    controlPlaneNames: proxyConfig.controlPlaneAuthPolicy === "MUTUAL_TLS" ? [controlPlaneName(host)] : [],
    outlierLogPath: flags.get("outlierLogPath") ?? "",
    statusPort: source.statusPort,
    prometheusPort: source.prometheusPort,
    secureMetricsPort: read.number("ENVOY_SECURE_METRICS_PORT", 0),
    secureMergedMetricsPort: read.number("ENVOY_SECURE_MERGED_METRICS_PORT", 0),
    identitySocketFile: source.socketFile,
    istioVersion,
    exitOnZeroActiveConnections: exitWhenIdle(read),
    skipDeprecatedLogs: skipDeprecatedLogs(read),
    metadataDiscovery: discovery,
    countsRequests: true,
    log: machine.log,
  });
}

function endpoints({ env, proxyConfig, discoveryAddress }: Source): Pick<AgentOptions, "discovery" | "ca"> {
  const target = parseHostPort(discoveryAddress, "discoveryAddress");
  const rootFile = rootFileOf(env);
  const serverName = env.ISTIOD_SAN || (target.host === "localhost" ? controlPlaneName(target.host) : undefined);
  const ownCa = env.CA_ADDR || undefined;
  return {
    discovery: {
      target,
      rootFile: env.XDS_ROOT_CA || rootFile,
      serverName,
      plaintext: proxyConfig.controlPlaneAuthPolicy === "NONE",
    },
    ca: {
      target: ownCa === undefined ? target : parseHostPort(ownCa, "CA_ADDR"),
      rootFile: env.CA_ROOT_CA || rootFile,
      serverName: ownCa === undefined ? serverName : undefined,
    },
  };
}

function wasmOptions(read: EnvReader): WasmOptions {
  const list = (name: string): readonly string[] =>
    read
      .text(name, "")
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== "");
  return {
    folder: "./var/lib/istio/data/wasm",
    insecureRegistries: list("WASM_INSECURE_REGISTRIES"),
    expiryMs: read.durationMs("WASM_MODULE_EXPIRY", dayMs),
    purgeMs: read.durationMs("WASM_PURGE_INTERVAL", 3_600_000),
    requestTimeoutMs: read.durationMs("WASM_HTTP_REQUEST_TIMEOUT", 15_000),
    maxRetries: read.number("WASM_HTTP_REQUEST_MAX_RETRIES", 5),
    maxBytes: read.number("ISTIO_WASM_MAX_BINARY_SIZE_BYTES", 256 * 1024 * 1024),
    blockedRanges: list("BLOCKED_CIDRS_IN_WASM_FETCH"),
  };
}

/** Both families of loopback: a process may have only one of them in its resolv.conf. */
function dnsOptions({ read, machine, namespace, addresses }: Source): NonNullable<AgentOptions["dns"]> {
  const { host, port } = parseHostPort(read.text("DNS_PROXY_ADDR", "localhost:15053"), "DNS_PROXY_ADDR");
  const hasIpv6 = addresses.some((address) => isIPv6(address));
  const { servers, search } = parseResolvConf(machine.readFile("/etc/resolv.conf") ?? "");
  return {
    addresses: host === "localhost" ? ["127.0.0.1", ...(hasIpv6 ? ["::1"] : [])] : [host],
    port,
    namespace,
    search,
    servers: servers.map((server) => ({ host: server, port: 53 })),
  };
}

type IdentityKeys =
  | "tokenFile"
  | "certificateFolder"
  | "certificateFiles"
  | "identityUri"
  | "keyAlgorithm"
  | "certificateTtlMs"
  | "rotation"
  | "extraRoots"
  | "revokedFile";

function identityOptions({ env, read, namespace }: Source): Pick<AgentOptions, IdentityKeys> {
  const trustDomain = read.text("TRUST_DOMAIN", "cluster.local");
  return {
    tokenFile: read.text("JWT_POLICY", "third-party-jwt") === "first-party-jwt" ? firstPartyToken : thirdPartyToken,
    certificateFolder: env.PROV_CERT || undefined,
    certificateFiles: env.OUTPUT_CERTS
      ? { folder: env.OUTPUT_CERTS, mode: env.KUBERNETES_SERVICE_HOST ? 0o644 : 0o600 }
      : undefined,
    identityUri: `spiffe://${trustDomain}/ns/${namespace}/sa/${read.text("SERVICE_ACCOUNT", "default")}`,
    keyAlgorithm: keyAlgorithm(env),
    certificateTtlMs: read.durationMs("SECRET_TTL", dayMs),
    rotation: {
      graceRatio: read.number("SECRET_GRACE_PERIOD_RATIO", 0.5),
      graceJitter: read.number("SECRET_GRACE_PERIOD_RATIO_JITTER", 0.01),
    },
    extraRoots: "",
    revokedFile: read.bool("PILOT_ENABLE_CA_CRL", true) ? "./var/run/secrets/istio/crl/ca-crl.pem" : undefined,
  };
}

/** The image's place for Envoy is only a default; outside an image the environment may name the one that is there. */
function envoyBinary({ binaryPath }: ProxyConfigValues, env: Environment): string {
  const named = env.FAIRLEAD_ENVOY;
  const byDefault = binaryPath === undefined || binaryPath === defaultProxyConfig.binaryPath;
  return byDefault && named ? named : (binaryPath ?? "/usr/local/bin/envoy");
}

function proxyType(text: string): ProxyType {
  if (text === "sidecar" || text === "router") return text;
  throw new FairleadError("usage", `${JSON.stringify(text)} is no type of proxy`, { hint: "give sidecar or router" });
}

/** The Pod's own address leads: the control plane takes the first for it. */
function proxyAddresses(instanceIp: string, found: readonly string[]): readonly string[] {
  const first = parseIp(instanceIp) === undefined ? [] : [instanceIp];
  const others = found.length > 0 ? found : ["127.0.0.1", "::1"];
  return [...new Set([...first, ...others])];
}

/** Who calls localhost means the usual control plane behind a forwarded port. */
function controlPlaneName(host: string): string {
  return host === "localhost" ? "istiod.istio-system.svc" : host;
}

function rootFileOf(env: Environment): string {
  if (env.PROV_CERT) return join(env.PROV_CERT, "root-cert.pem");
  const ofKubernetes = env.PILOT_CERT_PROVIDER === "kubernetes";
  return ofKubernetes
    ? "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
    : "./var/run/secrets/istio/root-cert.pem";
}

function keyAlgorithm(env: Environment): KeyAlgorithm {
  if (env.ECC_SIGNATURE_ALGORITHM === "ECDSA") return env.ECC_CURVE === "P384" ? "ecdsa-p384" : "ecdsa-p256";
  if (env.WORKLOAD_RSA_KEY_SIZE === undefined) return "ecdsa-p256";
  return Number(env.WORKLOAD_RSA_KEY_SIZE) > 2048 ? "rsa-4096" : "rsa-2048";
}

function headersFrom(env: Environment, prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(env).filter(([name, value]) => name.startsWith(prefix) && value !== undefined);
  return Object.fromEntries(found.map(([name, value = ""]) => [name.slice(prefix.length).toLowerCase(), value]));
}

function downward(text: string | undefined): Readonly<Record<string, string>> | undefined {
  return text === undefined ? undefined : parseDownwardApi(text);
}

function ownListeners(ports: readonly number[]): ReadonlySet<string> {
  const names = ["0.0.0.0", "[__]"].flatMap((host) =>
    ports.map((port) => `listener.${host}_${port}.downstream_cx_active`),
  );
  return new Set([...names, "listener.admin.downstream_cx_active"]);
}
