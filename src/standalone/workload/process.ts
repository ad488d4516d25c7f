/** The processes of a workload, inside its network namespace: capture rules, agent with Envoy, and the command itself. */
import type { ChildProcess } from "node:child_process";
import { closeSync, realpathSync } from "node:fs";
import { FairleadError } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { enterCommand } from "../enter.ts";
import type { ContainerLog } from "../log/container-log.ts";
import type { PodNetwork } from "../network/pod-network.ts";
import { type Running, type StartOptions, spawnPiped, startProcess } from "../processes.ts";
import type { PodFiles } from "./files.ts";
import { captureArguments, proxyArguments, proxyEnvironment, withProxyConfig } from "./injected.ts";
import { proxyUser, type WorkloadHost, type WorkloadSpec } from "./spec.ts";

/** A workload's place on this machine. */
export interface PodPlace {
  readonly network: PodNetwork;
  readonly files: PodFiles;
  readonly address: string;
}

export async function capture(host: WorkloadHost, place: PodPlace, pod: KubeObject): Promise<void> {
  const flags = captureArguments(pod);
  if (flags.length === 0) return;
  // Names are the agent's to answer too.
  const command = [...host.runtime.fairlead, "iptables", ...flags, "--redirect-dns"];
  const { status, output } = await execIn(host, place, command);
  if (status === 0) return;
  const last = output.split("\n").slice(-3).join("; ");
  throw new FairleadError("internal", `the capture rules were refused: ${last}`);
}

/** The file that /etc/resolv.conf leads to is what must be covered. */
function binds(host: WorkloadHost, files: PodFiles): readonly (readonly [string, string])[] {
  return [[files.resolvConf, realpathSync("/etc/resolv.conf")], ...host.runtime.binds];
}

function baseEnv(): Record<string, string> {
  const path = process.env.PATH ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return { PATH: path.includes("/usr/sbin") ? path : `${path}:/usr/sbin:/sbin`, LANG: "C.UTF-8" };
}

export function startAgent(host: WorkloadHost, place: PodPlace, pod: KubeObject, log: ContainerLog): Running {
  const { network, files } = place;
  const env = agentEnv(host, place, pod);
  const command = [...host.runtime.fairlead, "agent", ...proxyArguments(pod, env)];
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files), uid: proxyUser }, command);
  return startLogged({ ...enter, env, cwd: files.dir, journal: host.journal }, log);
}

/** As the injector wrote it, except where this machine has things in other places than an image. */
function agentEnv(host: WorkloadHost, { address }: PodPlace, pod: KubeObject): Record<string, string> {
  const injected = proxyEnvironment(pod, { address, hostAddress: host.plan.hostAddress });
  const own = {
    discoveryAddress: host.discoveryAddress,
    binaryPath: host.runtime.envoy,
    terminationDrainDuration: "1s",
  };
  return {
    ...baseEnv(),
    ISTIO_META_DNS_CAPTURE: captureArguments(pod).length > 0 ? "true" : "false",
    JWT_POLICY: "third-party-jwt",
    ...certificateSettings(),
    ...injected,
    CA_ADDR: host.discoveryAddress,
    PROXY_CONFIG: withProxyConfig(injected.PROXY_CONFIG, own),
    FAIRLEAD_ENVOY: host.runtime.envoy,
  };
}

/** Settings of pilot-agent that `up` and `run` are given in their own environment; what a Pod is injected with wins. */
const certificateVariables = [
  "SECRET_TTL",
  "SECRET_GRACE_PERIOD_RATIO",
  "SECRET_GRACE_PERIOD_RATIO_JITTER",
  "WORKLOAD_RSA_KEY_SIZE",
  "ECC_SIGNATURE_ALGORITHM",
  "ECC_CURVE",
];

function certificateSettings(): Record<string, string> {
  const given = certificateVariables.map((name) => [name, process.env[name] ?? ""] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

export function startApp(host: WorkloadHost, spec: WorkloadSpec, place: PodPlace, log: ContainerLog): Running {
  const enter = enterCommand({ namespace: place.network.path, binds: binds(host, place.files) }, spec.command);
  return startLogged({ ...enter, env: appEnv(spec), journal: host.journal }, log);
}

/** The process has its own copy of the open file. */
function startLogged(options: Omit<StartOptions, "output">, log: ContainerLog): Running {
  const output = log.open();
  try {
    const running = startProcess({ ...options, output });
    void running.exited.then(log.ended);
    return running;
  } finally {
    closeSync(output);
  }
}

/** A command beside a container's own process: as the same user, in the same place and environment. */
export function spawnBeside(
  host: WorkloadHost,
  spec: WorkloadSpec,
  { network, files }: PodPlace,
  container: "app" | "proxy",
  command: readonly string[],
): ChildProcess {
  const isProxy = container === "proxy";
  const place = { namespace: network.path, binds: binds(host, files), ...(isProxy ? { uid: proxyUser } : {}) };
  const env = isProxy ? baseEnv() : appEnv(spec);
  return spawnPiped({
    ...enterCommand(place, command),
    env,
    journal: host.journal,
    ...(isProxy ? { cwd: files.dir } : {}),
  });
}

function appEnv(spec: WorkloadSpec): Record<string, string> {
  return { ...baseEnv(), HOME: process.env.HOME ?? "/", HOSTNAME: spec.name, ...spec.env };
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
