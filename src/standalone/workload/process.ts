/** The processes of a workload, inside its network namespace: capture rules, agent with Envoy, and the command itself. */
import { closeSync, realpathSync } from "node:fs";
import { FairleadError } from "../../lib/index.ts";
import { enterCommand } from "../enter.ts";
import type { PodNetwork } from "../network.ts";
import { type Running, type StartOptions, startProcess } from "../processes.ts";
import type { ContainerLog } from "./container-log.ts";
import type { PodFiles } from "./files.ts";
import { proxyUser, type WorkloadHost, type WorkloadSpec } from "./spec.ts";

/** A workload's place on this machine. */
export interface PodPlace {
  readonly network: PodNetwork;
  readonly files: PodFiles;
  readonly address: string;
}

export async function capture(host: WorkloadHost, place: PodPlace): Promise<void> {
  const { status, output } = await execIn(host, place, [...host.runtime.fairlead, "iptables", ...captureFlags]);
  if (status === 0) return;
  const last = output.split("\n").slice(-3).join("; ");
  throw new FairleadError("internal", `the capture rules were refused: ${last}`);
}

/** As Istio's injector calls istio-iptables: everything in and out, except the agent's own ports; names are the agent's too. */
const captureFlags = [
  "-p",
  "15001",
  "-z",
  "15006",
  "-u",
  String(proxyUser),
  "-m",
  "REDIRECT",
  "-i",
  "*",
  "-x",
  "",
  "-b",
  "*",
  "-d",
  "15090,15021,15020",
  "--redirect-dns",
];

/** The file that /etc/resolv.conf leads to is what must be covered. */
function binds(host: WorkloadHost, files: PodFiles): readonly (readonly [string, string])[] {
  return [[files.resolvConf, realpathSync("/etc/resolv.conf")], ...host.runtime.binds];
}

function baseEnv(): Record<string, string> {
  const path = process.env.PATH ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return { PATH: path.includes("/usr/sbin") ? path : `${path}:/usr/sbin:/sbin`, LANG: "C.UTF-8" };
}

export function startAgent(host: WorkloadHost, spec: WorkloadSpec, place: PodPlace, log: ContainerLog): Running {
  const { network, files } = place;
  const command = [
    ...host.runtime.fairlead,
    "agent",
    "proxy",
    spec.type,
    "--domain",
    `${spec.namespace}.svc.${host.domain}`,
  ];
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files), uid: proxyUser }, command);
  return startLogged({ ...enter, env: agentEnv(host, spec, place), cwd: files.dir, journal: host.journal }, log);
}

function agentEnv(host: WorkloadHost, spec: WorkloadSpec, { address }: PodPlace): Record<string, string> {
  const proxyConfig = {
    discoveryAddress: host.discoveryAddress,
    binaryPath: host.runtime.envoy,
    terminationDrainDuration: "1s",
  };
  return {
    ...baseEnv(),
    POD_NAME: spec.name,
    POD_NAMESPACE: spec.namespace,
    INSTANCE_IP: address,
    HOST_IP: host.plan.hostAddress,
    SERVICE_ACCOUNT: spec.serviceAccount,
    ISTIO_META_WORKLOAD_NAME: spec.labels["service.istio.io/workload-name"] ?? spec.name,
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_NODE_NAME: "localhost",
    ISTIO_META_MESH_ID: host.domain,
    ISTIO_META_INTERCEPTION_MODE: "REDIRECT",
    ...(spec.type === "sidecar" ? { ISTIO_META_DNS_CAPTURE: "true" } : {}),
    TRUST_DOMAIN: host.domain,
    PILOT_CERT_PROVIDER: "istiod",
    JWT_POLICY: "third-party-jwt",
    PROXY_CONFIG: JSON.stringify(proxyConfig),
    FAIRLEAD_ENVOY: host.runtime.envoy,
  };
}

export function startApp(host: WorkloadHost, spec: WorkloadSpec, place: PodPlace, log: ContainerLog): Running {
  const enter = enterCommand({ namespace: place.network.path, binds: binds(host, place.files) }, spec.command);
  const env = { ...baseEnv(), HOME: process.env.HOME ?? "/", HOSTNAME: spec.name, ...spec.env };
  return startLogged({ ...enter, env, journal: host.journal }, log);
}

/** The process has its own copy of the open file. */
function startLogged(options: Omit<StartOptions, "output">, log: ContainerLog): Running {
  const output = log.open();
  try {
    return startProcess({ ...options, output });
  } finally {
    closeSync(output);
  }
}

export async function execIn(
  host: WorkloadHost,
  { network, files }: PodPlace,
  command: readonly string[],
): Promise<{ status: number | string; output: string }> {
  const lines: string[] = [];
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files) }, command);
  const output = (text: string): void => void lines.push(text);
  const running = startProcess({ ...enter, env: baseEnv(), output, journal: host.journal });
  return { status: await running.exited, output: lines.join("\n") };
}
