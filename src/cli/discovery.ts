/** `fairlead discovery`: the control plane on a Kubernetes API, with istiod's flags. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import {
  type DashboardSettings,
  type IssuerRule,
  parseIssuerRule,
  type RotationPace,
  startDiscovery,
} from "../control-plane/index.ts";
import { loadKubeconfig } from "../kube/index.ts";
import { createLineWriter, createLogger, createLogScopes, FairleadError, parseDurationMs } from "../lib/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { givenServing, givenSigner, type ServingFlags } from "./given-certificates.ts";
import { formatAddress, type ListenAddress, parseListenAddress } from "./listen-address.ts";
import { pluggedCaFolder } from "./plugged-ca.ts";
import { processOverload } from "./process-overload.ts";
import { favourEventLoop, tuneRuntime } from "./runtime.ts";
import { bundleDir } from "./self.ts";
import { readDashboardSecret } from "./up/dashboard-url.ts";
import { readRestarts } from "./up/supervised.ts";

interface DiscoveryFlags extends ServingFlags {
  readonly kubeconfig?: string;
  readonly grpcAddr: string;
  readonly secureGRPCAddr: string;
  readonly monitoringAddr: string;
  readonly httpsAddr: string;
  readonly httpAddr: string;
  readonly ctrlz_address: string;
  readonly ctrlz_port: string;
  readonly extraSecureAddr: readonly string[];
  readonly boundAddresses?: string;
  readonly dashboardAddr?: string;
  readonly dashboardSecret?: string;
  readonly dashboardHost: readonly string[];
  readonly dashboardHistory?: string;
  readonly dashboardEdit?: boolean;
  readonly dashboardEditKubeconfig?: string;
  readonly domain: string;
  readonly clusterID: string;
  readonly log_output_level?: string;
  readonly log_as_json?: boolean;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("discovery")
    .summary("Run the control plane on a Kubernetes API")
    .description(
      "The control plane: xDS on 15010 and 15012, certificates on 15012, metrics and debug on 15014, webhooks on 15017.",
    )
    .option("--kubeconfig <file>", "how to reach the API; inside a cluster its service account is used")
    .option("--grpcAddr <addr>", "plaintext xDS", ":15010")
    .option("--secureGRPCAddr <addr>", "xDS and certificates over TLS", ":15012")
    .option("--monitoringAddr <addr>", "metrics, version, debug", ":15014")
    .option("--httpsAddr <addr>", "webhooks", ":15017")
    .option("--httpAddr <addr>", "readiness, debug", ":8080")
    .option("--ctrlz_address <host>", "where levels of the log can be changed; * for everywhere", "localhost")
    .option("--ctrlz_port <port>", "its port", "9876")
    .option("--extra-secure-addr <addr...>", "further addresses for the TLS port", [])
    .option("--bound-addresses <file>", "write the addresses, once bound, as JSON to this file")
    .option("--tlsCertFile <file>", "the control plane's own certificate, of another CA")
    .option("--tlsKeyFile <file>", "its key")
    .option("--caCertFile <file>", "the root that it leads to")
    .option("--domain <domain>", "DNS domain suffix", "cluster.local")
    .option("--clusterID <id>", "name of the cluster that this API belongs to", "Kubernetes")
    .option("--dashboardAddr <addr>", "the mesh on a page (default: none)")
    .option("--dashboard-secret <file>", "proves who may see all of it; of others the API says what they may see")
    .option("--dashboard-host <name...>", "names by which the page may be asked for, beside those of the machine", [])
    .option("--dashboard-history <file>", "keeps the last changes; without it they are forgotten with the process")
    .option("--dashboard-edit", "objects may be applied from the page, by users with tokens of their own")
    .option("--dashboard-edit-kubeconfig <file>", "what whoever holds the page's secret applies with")
    .option("--log_output_level <levels>", "as istiod: default:info,ads:debug")
    .option("--log_as_json", "log lines as JSON")
    .addHelpText(
      "after",
      "\nFlags of istiod that do not apply are accepted and reported.\n\nExample:\n  fairlead discovery --kubeconfig ~/.kube/config --grpcAddr 127.0.0.1:0\n",
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: DiscoveryFlags, command: Command) => exit(await discovery(flags, command.args, io)));
}

const extraRoots = "/cacerts/extra.pem";

async function dashboardSettings(flags: DiscoveryFlags): Promise<DashboardSettings> {
  const { dashboardSecret, dashboardHost, dashboardHistory, dashboardEdit, dashboardEditKubeconfig: owner } = flags;
  const ownerAccess = owner === undefined ? {} : { ownerAccess: await loadKubeconfig({ paths: [owner], env: {} }) };
  return {
    folder: join(bundleDir(), "dashboard"),
    hosts: dashboardHost.map((name) => name.toLowerCase()),
    ...(dashboardSecret === undefined ? {} : { secret: await readDashboardSecret(dashboardSecret) }),
    ...(dashboardHistory === undefined ? {} : { historyFile: dashboardHistory }),
    ...(dashboardEdit ? { edit: ownerAccess } : {}),
  };
}

async function discovery(flags: DiscoveryFlags, unknown: readonly string[], io: Io): Promise<number> {
  const runtime = tuneRuntime();
  favourEventLoop();
  const logScopes = createLogScopes(flags.log_output_level);
  const lines = createLineWriter(io.err);
  process.once("exit", lines.flush);
  const log = createLogger({
    // Hundreds of certificates a second have a line each; what goes wrong may be the last word.
    write: (line, level) => (level === "info" ? lines.write(line) : lines.writeNow(line)),
    now: () => new Date(),
    scopes: logScopes,
    ...(flags.log_as_json ? { json: true } : {}),
  });
  for (const flag of unknown) log.warn(`${flag} is not known here and has no effect`);
  const at = (flag: string, text: string): ListenAddress => parseListenAddress(flag, text, "0.0.0.0");
  const access = await clusterAccess(flags, io);
  const externalCa = givenSigner(io.env);
  const hasOwnCa = !isOff(io.env.ENABLE_CA_SERVER) && (externalCa?.servingSigner ?? "") === "";
  const servingFiles = givenServing(flags, hasOwnCa || externalCa !== undefined);
  const plane = await startDiscovery({
    access,
    addresses: {
      grpc: at("--grpcAddr", flags.grpcAddr),
      secureGrpc: at("--secureGRPCAddr", flags.secureGRPCAddr),
      monitoring: at("--monitoringAddr", flags.monitoringAddr),
      https: at("--httpsAddr", flags.httpsAddr),
      http: at("--httpAddr", flags.httpAddr),
      controlz: controlZAddress(flags),
      ...(flags.dashboardAddr === undefined
        ? {}
        : { dashboard: parseListenAddress("--dashboardAddr", flags.dashboardAddr, "127.0.0.1") }),
    },
    ...(flags.dashboardAddr === undefined ? {} : { dashboard: await dashboardSettings(flags) }),
    extraSecure: flags.extraSecureAddr.map((text) => at("--extra-secure-addr", text)),
    domain: flags.domain,
    cluster: io.env.CLUSTER_ID ?? flags.clusterID,
    namespace: io.env.POD_NAMESPACE ?? "istio-system",
    revision: io.env.REVISION ?? "",
    identity: io.env.POD_NAME || `${hostname()}-${process.pid}`,
    leaderElection: !isOff(io.env.ENABLE_LEADER_ELECTION),
    analysis: isOn(io.env.PILOT_ENABLE_ANALYSIS),
    programmedStatus: !isOff(io.env.PILOT_ENABLE_STATUS),
    checkIncremental: isOn(io.env.FAIRLEAD_CHECK_INCREMENTAL),
    certificates: {
      defaultTtlMs: durationEnv(io, "DEFAULT_WORKLOAD_CERT_TTL", 24 * hourMs),
      maxTtlMs: durationEnv(io, "MAX_WORKLOAD_CERT_TTL", 90 * 24 * hourMs),
    },
    tokenAudiences: (io.env.TOKEN_AUDIENCES || "istio-ca").split(","),
    issuers: tokenIssuers(io),
    hasOwnCa,
    ...(externalCa && !isOff(io.env.ENABLE_CA_SERVER) ? { externalCa } : {}),
    ...(servingFiles ? { servingFiles } : {}),
    caFolder: pluggedCaFolder(io.env.ROOT_CA_DIR || "/etc/cacerts"),
    revokedMap: isOff(io.env.PILOT_ENABLE_CA_CRL) ? "" : io.env.PILOT_CRL_CONFIGMAP || "istio-ca-crl",
    rotationPace: rotationPace(io),
    debounceMs: durationEnv(io, "PILOT_DEBOUNCE_AFTER", 100),
    debounceMaxMs: durationEnv(io, "PILOT_DEBOUNCE_MAX", 10_000),
    debounceEndpoints: !isOff(io.env.PILOT_ENABLE_EDS_DEBOUNCE),
    ...pushThrottle(io),
    virtualHosts: !isOff(io.env.PILOT_ENABLE_VHDS),
    tapHeaders: (io.env.FAIRLEAD_TAP_HEADERS ?? "").toLowerCase().split(",").filter(Boolean),
    ownHostsOnly: isOn(io.env.FAIRLEAD_OWN_HOSTS_ONLY),
    registration: {
      graceMs: durationEnv(io, "PILOT_WORKLOAD_ENTRY_GRACE_PERIOD", 10_000),
      enabled: {
        registration: !isOff(io.env.PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION),
        health: !isOff(io.env.PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS),
      },
      validateIdentity: !isOff(io.env.ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY),
    },
    gatewayDeployments: !isOff(io.env.PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER),
    injection: {
      nativeSidecars: io.env.ENABLE_NATIVE_SIDECARS || "auto",
      compliancePolicy: io.env.COMPLIANCE_POLICY ?? "",
      platform: io.env.PLATFORM ?? "",
    },
    keySets: {
      blockedRanges: (io.env.BLOCKED_CIDRS_IN_JWKS_URIS ?? "").split(/[\s,]+/).filter((range) => range !== ""),
      refreshMs: durationEnv(io, "PILOT_JWT_PUB_KEY_REFRESH_INTERVAL", 20 * 60_000),
      // Where istiod's manifests mount further roots.
      ...(existsSync(extraRoots) ? { extraRoots: readFileSync(extraRoots, "utf8") } : {}),
    },
    runtime,
    overload: processOverload(io, log),
    restarts: readRestarts(io.env),
    log,
    logScopes,
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: Math.random,
    signal: io.signal,
  });
  const bound = Object.fromEntries(
    Object.entries(plane.addresses).map(([name, address]) => [name, formatAddress(address)]),
  );
  if (flags.boundAddresses !== undefined) {
    writeFileSync(`${flags.boundAddresses}.new`, JSON.stringify(bound), { mode: 0o600 });
    renameSync(`${flags.boundAddresses}.new`, flags.boundAddresses);
  }
  log.info("the control plane serves", bound);
  await new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve();
    else io.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  log.info("stopping");
  await plane.close();
  return 0;
}

const hourMs = 3_600_000;

/** In istiod's words, which are a host and a port. */
function controlZAddress({ ctrlz_address: host, ctrlz_port: port }: DiscoveryFlags): ListenAddress {
  const hosts = new Map([
    ["localhost", "127.0.0.1"],
    ["*", "0.0.0.0"],
  ]);
  const named = hosts.get(host) ?? host;
  const at = named.includes(":") ? `[${named}]` : named;
  return parseListenAddress("--ctrlz_port", `${at}:${port}`, "127.0.0.1");
}

/** Tokens of others than the API: by a rule, or, outside a cluster, by the name of the issuer alone. */
function tokenIssuers({ env }: Io): readonly IssuerRule[] {
  const { JWT_RULE = "", TOKEN_ISSUER = "", AUDIENCE = "", KUBERNETES_SERVICE_HOST = "" } = env;
  const named = TOKEN_ISSUER !== "" && KUBERNETES_SERVICE_HOST === "";
  return [
    ...(JWT_RULE === "" ? [] : [parseIssuerRule(JWT_RULE)]),
    ...(named ? [{ issuer: TOKEN_ISSUER, jwksUri: "", audiences: [AUDIENCE || "istio-ca"] }] : []),
  ];
}

/** As istiod has it, none and 0 leave the number to the control plane. */
function pushThrottle(io: Io): { readonly pushThrottle?: number } {
  const text = io.env.PILOT_PUSH_THROTTLE ?? "";
  if (!/^\d{0,6}$/.test(text))
    throw new FairleadError("usage", `PILOT_PUSH_THROTTLE: ${text} is not a number`, { hint: "write it as 100" });
  const most = Number(text);
  return most === 0 ? {} : { pushThrottle: most };
}

/** Slower where mounted files take longer; a mesh on one machine need not wait for a kubelet. */
function rotationPace(io: Io): RotationPace {
  return {
    stepMs: durationEnv(io, "FAIRLEAD_ROOT_ROTATION_STEP", 3_000),
    reconnectMs: durationEnv(io, "FAIRLEAD_ROOT_ROTATION_RECONNECT", 15_000),
    fileLagMs: durationEnv(io, "FAIRLEAD_ROOT_FILE_LAG", 120_000),
  };
}

function durationEnv(io: Io, name: string, fallbackMs: number): number {
  const text = io.env[name];
  if (text === undefined || text === "") return fallbackMs;
  const ms = parseDurationMs(text);
  if (ms === undefined)
    throw new FairleadError("usage", `${name}: ${text} is not a duration`, { hint: "write it as 100ms or 10s" });
  return ms;
}

/** Both as Go's parser of truth values has it; what it does not know leaves a setting as it is by itself. */
const isOff = (value = ""): boolean => /^(0|f|F|false|False|FALSE)$/.test(value);

const isOn = (value = ""): boolean => /^(1|t|T|true|True|TRUE)$/.test(value);
