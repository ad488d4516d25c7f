/** The processes of a workload, inside its network namespace: capture rules, agent with Envoy, and the command itself. */
import { realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { FairleadError, wait } from "../lib/index.ts";
import { enterCommand } from "./enter.ts";
import type { PodNetwork } from "./network.ts";
import { type Running, startProcess } from "./processes.ts";
import type { PodFiles } from "./workload-files.ts";
import { proxyUser, type WorkloadHost, type WorkloadSpec } from "./workload-spec.ts";

export async function capture(host: WorkloadHost, network: PodNetwork, files: PodFiles): Promise<void> {
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files) }, [
    ...host.runtime.fairlead,
    "iptables",
    ...captureFlags,
  ]);
  const lines: string[] = [];
  const running = startProcess({ ...enter, env: baseEnv(), line: (text) => lines.push(text), journal: host.journal });
  const status = await running.exited;
  if (status !== 0)
    throw new FairleadError("internal", `the capture rules were refused: ${lines.slice(-3).join("; ")}`);
}

/** As Istio's injector calls istio-iptables: everything in and out, except the agent's own ports. */
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
];

/** The file that /etc/resolv.conf leads to is what must be covered. */
function binds(host: WorkloadHost, files: PodFiles): readonly (readonly [string, string])[] {
  return [[files.resolvConf, realpathSync("/etc/resolv.conf")], ...host.runtime.binds];
}

function baseEnv(): Record<string, string> {
  const path = process.env.PATH ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return { PATH: path.includes("/usr/sbin") ? path : `${path}:/usr/sbin:/sbin`, LANG: "C.UTF-8" };
}

export function startAgent(
  host: WorkloadHost,
  spec: WorkloadSpec,
  network: PodNetwork,
  files: PodFiles,
  address: string,
): Running {
  const proxyConfig = {
    discoveryAddress: host.discoveryAddress,
    binaryPath: host.runtime.envoy,
    terminationDrainDuration: "1s",
  };
  const env = {
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
    TRUST_DOMAIN: host.domain,
    PILOT_CERT_PROVIDER: "istiod",
    JWT_POLICY: "third-party-jwt",
    PROXY_CONFIG: JSON.stringify(proxyConfig),
    FAIRLEAD_ENVOY: host.runtime.envoy,
  };
  const command = [
    ...host.runtime.fairlead,
    "agent",
    "proxy",
    spec.type,
    "--domain",
    `${spec.namespace}.svc.${host.domain}`,
  ];
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files), uid: proxyUser }, command);
  return startProcess({
    ...enter,
    env,
    cwd: files.dir,
    line: (text) => host.line(`${spec.name}/proxy`, text),
    journal: host.journal,
  });
}

export function startApp(host: WorkloadHost, spec: WorkloadSpec, network: PodNetwork, files: PodFiles): Running {
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files) }, spec.command);
  const env = { ...baseEnv(), HOME: process.env.HOME ?? "/", HOSTNAME: spec.name, ...spec.env };
  return startProcess({ ...enter, env, line: (text) => host.line(spec.name, text), journal: host.journal });
}

export async function execIn(
  host: WorkloadHost,
  network: PodNetwork,
  files: PodFiles,
  command: readonly string[],
): Promise<{ status: number | string; output: string }> {
  const lines: string[] = [];
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files) }, command);
  const running = startProcess({ ...enter, env: baseEnv(), line: (text) => lines.push(text), journal: host.journal });
  return { status: await running.exited, output: lines.join("\n") };
}

export async function waitForProxy(agent: Running, address: string, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
  let ended: number | string | undefined;
  void agent.exited.then((status) => {
    ended = status;
  });
  while (!deadline.aborted) {
    if (ended !== undefined)
      throw new FairleadError("internal", `the agent ended with ${ended}`, { hint: "its last lines above say why" });
    const ready = await fetch(`http://${address}:15020/healthz/ready`, { signal: deadline }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
    await wait(50, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", "Envoy did not become ready in 30 s", { hint: "its last lines above say why" });
}

/** Waits until the process listens on its first port, by looking at the sockets of its own network namespace. */
export async function waitForListen(app: Running, spec: WorkloadSpec, signal: AbortSignal): Promise<void> {
  const [port] = spec.ports;
  if (port === undefined) return;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
  let ended: number | string | undefined;
  void app.exited.then((status) => {
    ended = status;
  });
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  while (!deadline.aborted) {
    if (ended !== undefined)
      throw new FairleadError(
        "internal",
        `${spec.command[0] ?? "the command"} ended with ${ended} before it listened on port ${port}`,
      );
    const tables = await Promise.all(
      ["tcp", "tcp6"].map((table) => readFile(`/proc/${app.pid}/net/${table}`, "utf8").catch(() => "")),
    );
    // Column 2 is the local address, column 4 the state; 0A is LISTEN.
    const listens = tables.some((table) =>
      table
        .split("\n")
        .some((row) => row.trim().split(/\s+/)[1]?.endsWith(`:${wanted}`) && row.trim().split(/\s+/)[3] === "0A"),
    );
    if (listens) return;
    await wait(50, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `${spec.name} does not listen on port ${port} after 60 s`, {
    hint: "give the port that the command listens on with --port",
  });
}
