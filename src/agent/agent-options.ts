/** pilot-agent's environment, arguments and mounted files in, one whole set of options out; nobody else reads the environment. */
import { readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { FairleadError, type Logger, parseDurationMs, parseIp } from "../lib/index.ts";
import { istioVersion, type ProxyConfigValues, type ProxyType } from "../model/index.ts";
import type { KeyAlgorithm } from "../pki/index.ts";
import type { RpcClientOptions } from "../rpc/index.ts";
import { type AppProbe, parseAppProbes } from "./app-probe.ts";
import type { BootstrapOptions } from "./bootstrap/bootstrap.ts";
import { buildNode, parseDownwardApi } from "./bootstrap/node.ts";
import { loadProxyConfig } from "./bootstrap/proxy-config.ts";

export interface AgentOptions {
  readonly type: ProxyType;
  /** All relative paths, the agent's and Envoy's, start here. */
  readonly workDir: string;
  readonly proxyConfig: ProxyConfigValues;
  readonly bootstrap: BootstrapOptions;
  readonly discovery: Endpoint & { readonly plaintext: boolean };
  readonly ca: Endpoint;
  /** Empty for none, where a client certificate or nothing is asked for. */
  readonly tokenFile: string;
  readonly sdsSocket: string;
  readonly xdsSocket: string;
  readonly xdsHeaders: Readonly<Record<string, string>>;
  readonly identityUri: string;
  readonly keyAlgorithm: KeyAlgorithm;
  readonly certificateTtlMs: number;
  readonly rotation: { readonly graceRatio: number; readonly graceJitter: number };
  readonly extraRoots: string;
  readonly statusHost: string;
  readonly localhost: string;
  readonly ipv6Only: boolean;
  readonly prometheusPort: number;
  readonly appProbes: ReadonlyMap<string, AppProbe>;
  readonly appAddress: string;
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
  /** Takes Envoy's output line by line; without it Envoy writes to our own output. */
  readonly writeEnvoyLine?: (line: string) => void;
}

interface Endpoint {
  readonly target: RpcClientOptions["target"];
  readonly rootFile: string;
  /** Undefined goes by the target's own name. */
  readonly serverName: string | undefined;
}

/** What the agent finds on its machine; handed in. */
export interface AgentMachine {
  readonly workDir: string;
  readonly addresses: readonly string[];
  /** A file's text, undefined where there is none. */
  readonly readFile: (path: string) => string | undefined;
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
}

export function readAgentMachine(workDir: string, log: Logger): AgentMachine {
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const usable = interfaces.filter((entry) => !entry.internal && !entry.address.startsWith("fe80"));
  return {
    workDir,
    addresses: usable.map((entry) => entry.address),
    readFile(path) {
      try {
        return readFileSync(join(workDir, path), "utf8");
      } catch {
        return undefined;
      }
    },
    now: () => new Date(),
    random: Math.random,
    log,
  };
}

const identityFolder = "./var/run/secrets/workload-spiffe-uds";
const thirdPartyToken = "./var/run/secrets/tokens/istio-token";
const firstPartyToken = "./var/run/secrets/kubernetes.io/serviceaccount/token";

/** Throws `usage` or `invalid`, naming the variable or argument. */
export function agentOptionsFromEnv(
  env: Readonly<Record<string, string | undefined>>,
  argv: readonly string[],
  machine: AgentMachine,
): AgentOptions {
  const flags = parseFlags(argv);
  const read = createReader(env);
  const { log } = machine;
  const type = proxyType(flags.positional[0] ?? "sidecar");
  const podAnnotations = downward(machine.readFile("./etc/istio/pod/annotations"));
  const proxyConfig = loadProxyConfig({
    meshFile: machine.readFile(flags.get("meshConfig") ?? "./etc/istio/config/mesh"),
    env: env.PROXY_CONFIG,
    annotations: podAnnotations ?? {},
    cpuLimit: read.number("ISTIO_CPU_LIMIT", 0),
    concurrency: Number(flags.get("concurrency") ?? 0),
  });
  const namespace = read.text("POD_NAMESPACE", "");
  const addresses = proxyAddresses(read.text("INSTANCE_IP", ""), machine.addresses);
  const ipv6Only = addresses.every((address) => isIPv6(address));
  const domain = flags.get("domain") || `${namespace}.svc.cluster.local`;
  const exitWhenIdle = read.bool("EXIT_ON_ZERO_ACTIVE_CONNECTIONS", false);
  const prometheusPort = read.number("ENVOY_PROMETHEUS_PORT", 15090);
  const statusPort = read.number("ENVOY_STATUS_PORT", 15021);
  const skipDeprecatedLogs = read.bool("ENVOY_SKIP_DEPRECATED_LOGS", true);
  const socketFile = read.text("WORKLOAD_IDENTITY_SOCKET_FILE", "socket");
  const sdsSocket = `${identityFolder}/${socketFile}`;
  const configPath = proxyConfig.configPath ?? "./etc/istio/proxy";
  const discoveryAddress = proxyConfig.discoveryAddress ?? "istiod.istio-system.svc:15012";
  const discoveryHost = hostAndPort(discoveryAddress, "discoveryAddress").host;
  const node = buildNode({
    id: [type, addresses[0] ?? "", `${read.text("POD_NAME", "")}.${namespace}`, domain].join("~"),
    env,
    addresses,
    proxyConfig,
    podLabels: downward(machine.readFile("./etc/istio/pod/labels")),
    podAnnotations,
    controlPlaneNames: proxyConfig.controlPlaneAuthPolicy === "MUTUAL_TLS" ? [controlPlaneName(discoveryHost)] : [],
    outlierLogPath: flags.get("outlierLogPath") ?? "",
    statusPort,
    prometheusPort,
    secureMetricsPort: read.number("ENVOY_SECURE_METRICS_PORT", 0),
    secureMergedMetricsPort: read.number("ENVOY_SECURE_MERGED_METRICS_PORT", 0),
    identitySocketFile: socketFile,
    istioVersion,
    exitOnZeroActiveConnections: exitWhenIdle,
    skipDeprecatedLogs,
    metadataDiscovery:
      env.PEER_METADATA_DISCOVERY === undefined ? undefined : read.bool("PEER_METADATA_DISCOVERY", false),
    credentialSocket: false,
    credentialFileSocket: false,
    log,
  });
  const xdsSocket = `${configPath}/XDS`;
  const localhost = ipv6Only ? "::1" : "127.0.0.1";
  const rootFile = rootFileOf(env);
  const serverName = env.ISTIOD_SAN || (discoveryHost === "localhost" ? controlPlaneName(discoveryHost) : undefined);
  return {
    type,
    workDir: machine.workDir,
    proxyConfig,
    bootstrap: {
      node,
      proxyConfig,
      addresses,
      sdsSocket,
      xdsSocket,
      compliancePolicy: read.text("COMPLIANCE_POLICY", ""),
      dualStack: read.bool("ISTIO_DUAL_STACK", false),
      logAsJson: flags.get("log_as_json") === "true",
      deltaXds: read.bool("ISTIO_DELTA_XDS", true),
      statusProxyProtocol: read.bool("ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL", false),
      stripFragment: read.bool("HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED", true),
      hostIp: read.text("HOST_IP", ""),
      log,
    },
    discovery: {
      target: hostAndPort(discoveryAddress, "discoveryAddress"),
      rootFile: env.XDS_ROOT_CA || rootFile,
      serverName,
      plaintext: proxyConfig.controlPlaneAuthPolicy === "NONE",
    },
    ca: {
      target: hostAndPort(env.CA_ADDR || discoveryAddress, "CA_ADDR"),
      rootFile: env.CA_ROOT_CA || rootFile,
      serverName: env.CA_ADDR ? env.CA_SAN || undefined : serverName,
    },
    tokenFile: read.text("JWT_POLICY", "third-party-jwt") === "first-party-jwt" ? firstPartyToken : thirdPartyToken,
    sdsSocket,
    xdsSocket,
    xdsHeaders: xdsHeaders(env),
    identityUri: `spiffe://${read.text("TRUST_DOMAIN", "cluster.local")}/ns/${namespace}/sa/${read.text("SERVICE_ACCOUNT", "default") || "default"}`,
    keyAlgorithm: keyAlgorithm(env),
    certificateTtlMs: read.durationMs("SECRET_TTL", 24 * 3_600_000),
    rotation: {
      graceRatio: read.number("SECRET_GRACE_PERIOD_RATIO", 0.5),
      graceJitter: read.number("SECRET_GRACE_PERIOD_RATIO_JITTER", 0.01),
    },
    extraRoots: "",
    statusHost: ipv6Only ? "::" : "0.0.0.0",
    localhost,
    ipv6Only,
    prometheusPort,
    appProbes: parseAppProbes(env.ISTIO_KUBE_APP_PROBERS),
    appAddress: addresses[0] ?? localhost,
    proxyLogLevel: flags.get("proxyLogLevel") ?? "warning",
    proxyComponentLogLevel: flags.get("proxyComponentLogLevel") ?? "",
    skipDeprecatedLogs,
    terminationDrainMs: parseDurationMs(proxyConfig.terminationDrainDuration ?? "5s") ?? 5000,
    exitWhenIdle: exitWhenIdle
      ? {
          minimumMs: read.durationMs("MINIMUM_DRAIN_DURATION", 5000),
          except: ownListeners([statusPort, prometheusPort]),
        }
      : undefined,
    onEnvoyExit: "exit",
    env,
    now: machine.now,
    random: machine.random,
    log,
  };
}

interface Flags {
  readonly positional: readonly string[];
  get(name: string): string | undefined;
}

/** Long flags with `=` or a following value; unknown ones are accepted, as pilot-agent accepts them. */
function parseFlags(argv: readonly string[]): Flags {
  const values = new Map<string, string>();
  const positional: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (!word.startsWith("--")) {
      positional.push(word);
      continue;
    }
    const at = word.indexOf("=");
    const next = argv[i + 1];
    if (at >= 0) values.set(word.slice(2, at), word.slice(at + 1));
    else if (next === undefined || next.startsWith("--") || switches.has(word.slice(2)))
      values.set(word.slice(2), "true");
    else {
      values.set(word.slice(2), next);
      i++;
    }
  }
  return { positional, get: (name) => values.get(name) };
}

/** Flags without a value. */
const switches: ReadonlySet<string> = new Set(["log_as_json", "profiling"]);

function proxyType(text: string): ProxyType {
  if (text === "sidecar" || text === "router") return text;
  throw new FairleadError("usage", `${JSON.stringify(text)} is no type of proxy`, { hint: "give sidecar or router" });
}

interface Reader {
  text(name: string, fallback: string): string;
  number(name: string, fallback: number): number;
  bool(name: string, fallback: boolean): boolean;
  durationMs(name: string, fallback: number): number;
}

/** An empty variable counts as not set; one that cannot be read is an error rather than a surprise. */
function createReader(env: Readonly<Record<string, string | undefined>>): Reader {
  const bad = (name: string, kind: string): FairleadError =>
    new FairleadError("usage", `${name}=${JSON.stringify(env[name])} is not ${kind}`, {
      hint: `correct or unset ${name}`,
    });
  const parse = <T>(name: string, fallback: T, kind: string, read: (text: string) => T | undefined): T => {
    const text = env[name];
    if (text === undefined || text === "") return fallback;
    const value = read(text);
    if (value === undefined) throw bad(name, kind);
    return value;
  };
  return {
    text: (name, fallback) => parse(name, fallback, "a text", (text) => text),
    number: (name, fallback) =>
      parse(name, fallback, "a number", (text) => (Number.isFinite(Number(text)) ? Number(text) : undefined)),
    bool: (name, fallback) =>
      parse(
        name,
        fallback,
        "true or false",
        (text) => ({ true: true, "1": true, false: false, "0": false })[text.toLowerCase()],
      ),
    durationMs: (name, fallback) => parse(name, fallback, "a duration such as 1h30m", parseDurationMs),
  };
}

/** The Pod's own address leads: the control plane takes the first for it. */
function proxyAddresses(instanceIp: string, found: readonly string[]): readonly string[] {
  const first = parseIp(instanceIp) === undefined ? [] : [instanceIp];
  const others = found.length > 0 ? found : ["127.0.0.1", "::1"];
  return [...new Set([...first, ...others])];
}

function hostAndPort(address: string, name: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new FairleadError("usage", `${name} is ${JSON.stringify(address)}, not HOST:PORT`, {
      hint: "for example istiod.istio-system.svc:15012",
    });
  return { host: match[1] ?? match[2] ?? "", port };
}

/** Who calls localhost means the usual control plane behind a forwarded port. */
function controlPlaneName(host: string): string {
  return host === "localhost" ? "istiod.istio-system.svc" : host;
}

function rootFileOf(env: Readonly<Record<string, string | undefined>>): string {
  if (env.PROV_CERT) return join(env.PROV_CERT, "root-cert.pem");
  const provider = env.PILOT_CERT_PROVIDER || "istiod";
  if (provider === "kubernetes") return "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  return "./var/run/secrets/istio/root-cert.pem";
}

function keyAlgorithm(env: Readonly<Record<string, string | undefined>>): KeyAlgorithm {
  if (env.ECC_SIGNATURE_ALGORITHM === "ECDSA") return env.ECC_CURVE === "P384" ? "ecdsa-p384" : "ecdsa-p256";
  if (env.WORKLOAD_RSA_KEY_SIZE === undefined) return "ecdsa-p256";
  return Number(env.WORKLOAD_RSA_KEY_SIZE) > 2048 ? "rsa-4096" : "rsa-2048";
}

function xdsHeaders(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const prefix = "XDS_HEADER_";
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
