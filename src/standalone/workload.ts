/**
 * One line of `fairlead run` in; a Pod in the API, with its own network namespace, agent, Envoy and process, out. The
 * same code serves the demo's workloads and its gateway.
 */
import { chownSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type KubeClient, microTime, requestToken } from "../kube/index.ts";
import { FairleadError, isRecord, type Logger, wait } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { replaceSecretFile } from "../pki/index.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { enterCommand, resolvConf } from "./enter.ts";
import type { Journal } from "./journal.ts";
import { configMaps, leases, pods, runnerAnnotation, serviceAccounts } from "./kinds.ts";
import { createPodNetwork, type PodNetwork, podNetworkId } from "./network.ts";
import type { NetworkPlan } from "./plan.ts";
import { type Running, startProcess } from "./processes.ts";
import type { RuntimeDir } from "./runtime-dir.ts";
import { readPodShape } from "./service-shape.ts";

export interface WorkloadSpec {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  /** Ports that the process listens on; Ready waits for the first. */
  readonly ports: readonly number[];
  readonly type: "sidecar" | "router";
  /** Empty for a gateway: Envoy is all there is. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface WorkloadHost {
  readonly client: KubeClient;
  readonly plan: NetworkPlan;
  readonly journal: Journal;
  /** Where agents find Node, the bundle, Envoy and their own folders. */
  readonly runtime: RuntimeDir;
  /** `host:port` of the control plane on the mesh network. */
  readonly discoveryAddress: string;
  readonly domain: string;
  readonly log: Logger;
  readonly line: (source: string, text: string) => void;
  readonly now: () => Date;
}

export interface Workload {
  readonly address: string;
  /** Resolves when the process has ended by itself. */
  readonly ended: Promise<number | string>;
  /** Runs a command as the workload would, beside its process; its traffic goes through the sidecar. */
  exec(command: readonly string[]): Promise<{ readonly status: number | string; readonly output: string }>;
  stop(): Promise<void>;
}

/** The user that agent and Envoy run as, exempt from capture; Istio's number. */
const proxyUser = 1337;
const tokenSeconds = 3600;

export async function startWorkload(host: WorkloadHost, spec: WorkloadSpec, signal: AbortSignal): Promise<Workload> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse())
      await step().catch((error: unknown) => host.log.warn(`${spec.name}: ${String(error)}`));
  };
  try {
    await ensureAccount(host, spec);
    const uid = await createPod(host, spec, undo);
    const address = await waitForAddress(host, spec, signal);
    const id = podNetworkId(uid);
    const network = await createPodNetwork(host.plan, host.journal, { id, address });
    undo.push(() => network.remove());
    const files = await prepareFiles(host, spec, uid, id, undo, signal);
    if (spec.type === "sidecar") await capture(host, network, files);
    const agent = startAgent(host, spec, network, files, address);
    undo.push(() => agent.stop(10_000));
    await waitForProxy(agent, address, signal);
    const app = spec.command.length > 0 ? startApp(host, spec, network, files) : undefined;
    if (app) undo.push(() => app.stop(5_000));
    if (app) await waitForListen(app, spec, signal);
    await markReady(host, spec);
    renewLease(host, spec, undo);
    const ended = app ? Promise.race([app.exited, agent.exited]) : agent.exited;
    return { address, ended, exec: (command) => execIn(host, network, files, command), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function ensureAccount(host: WorkloadHost, spec: WorkloadSpec): Promise<void> {
  const metadata = { name: spec.serviceAccount, namespace: spec.namespace };
  if (await host.client.find(serviceAccounts, metadata)) return;
  await host.client
    .create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata })
    .catch((error: unknown) => {
      if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
    });
}

async function createPod(host: WorkloadHost, spec: WorkloadSpec, undo: (() => Promise<void>)[]): Promise<string> {
  const { client } = host;
  const ref = { name: spec.name, namespace: spec.namespace };
  const leaseRef = { name: `run-${spec.name}`, namespace: spec.namespace };
  await client.create(leases, leaseObject(host, leaseRef)).catch(async (error: unknown) => {
    if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
    await client.patch(leases, leaseRef, "merge", { spec: leaseSpec(host) });
  });
  const pod = await client.create(pods, podObject(spec, leaseRef.name)).catch((cause: unknown) => {
    if (cause instanceof FairleadError && cause.code === "already-exists")
      throw new FairleadError("already-exists", `Pod ${spec.namespace}/${spec.name} is already there`, {
        hint: `choose another --name, or remove it: fairlead delete pod ${spec.name} -n ${spec.namespace}`,
        cause,
      });
    throw cause;
  });
  undo.push(async () => {
    await client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
    await client.delete(leases, leaseRef).catch(ignoreMissing);
  });
  return pod.metadata.uid ?? spec.name;
}

function podObject(spec: WorkloadSpec, lease: string): KubeObject {
  const app = {
    name: "app",
    image: "fairlead.dev/process",
    command: spec.command,
    ports: spec.ports.map((containerPort) => ({ containerPort, protocol: "TCP" })),
  };
  const proxy = { name: "istio-proxy", image: "fairlead.dev/agent", args: ["proxy", spec.type] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: spec.name,
      namespace: spec.namespace,
      labels: { ...spec.labels, ...(spec.type === "sidecar" ? { "security.istio.io/tlsMode": "istio" } : {}) },
      annotations: { [runnerAnnotation]: lease },
    },
    spec: {
      serviceAccountName: spec.serviceAccount,
      nodeName: "localhost",
      containers: spec.command.length > 0 ? [app, proxy] : [{ ...proxy, ports: app.ports }],
    },
  };
}

function leaseSpec(host: WorkloadHost): object {
  return { holderIdentity: `fairlead-run-${process.pid}`, leaseDurationSeconds: 15, renewTime: microTime(host.now()) };
}

function leaseObject(host: WorkloadHost, metadata: { name: string; namespace: string }): KubeObject {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: leaseSpec(host) };
}

function renewLease(host: WorkloadHost, spec: WorkloadSpec, undo: (() => Promise<void>)[]): void {
  const timer = setInterval(() => {
    host.client
      .patch(leases, { name: `run-${spec.name}`, namespace: spec.namespace }, "merge", { spec: leaseSpec(host) })
      .catch((error: unknown) =>
        host.log.warn(
          `${spec.name}: the lease could not be renewed: ${error instanceof Error ? error.message : String(error)}`,
        ),
      );
  }, 5_000);
  undo.push(async () => clearInterval(timer));
}

async function waitForAddress(host: WorkloadHost, spec: WorkloadSpec, signal: AbortSignal): Promise<string> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(15_000)]);
  const ref = { name: spec.name, namespace: spec.namespace };
  while (!deadline.aborted) {
    const { address } = readPodShape(await host.client.get(pods, ref));
    if (address !== "") return address;
    await wait(50, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `Pod ${spec.namespace}/${spec.name} was given no address`, {
    hint: "is the `fairlead up` of this data folder running?",
  });
}

interface PodFiles {
  readonly dir: string;
  readonly resolvConf: string;
  readonly token: string;
  readonly rootCert: string;
  readonly labels: string;
}

async function prepareFiles(
  host: WorkloadHost,
  spec: WorkloadSpec,
  uid: string,
  id: string,
  undo: (() => Promise<void>)[],
  signal: AbortSignal,
): Promise<PodFiles> {
  const dir = join(host.runtime.path, "pods", id);
  host.journal.add({ kind: "folder", path: dir });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chownSync(dir, proxyUser, proxyUser);
  undo.push(async () => {
    rmSync(dir, { recursive: true, force: true });
    host.journal.remove({ kind: "folder", path: dir });
  });
  // Where Istio's agent looks for them, below its own folder.
  const files = {
    dir,
    resolvConf: join(dir, "resolv.conf"),
    token: join(dir, "var/run/secrets/tokens/istio-token"),
    rootCert: join(dir, "var/run/secrets/istio/root-cert.pem"),
    labels: join(dir, "etc/istio/pod/labels"),
  };
  const put = async (file: string, content: string): Promise<void> => {
    makeFolders(dir, file);
    await replaceSecretFile(file, content);
    chownSync(file, proxyUser, proxyUser);
  };
  const refreshToken = async (): Promise<void> => {
    const order = {
      namespace: spec.namespace,
      serviceAccount: spec.serviceAccount,
      audiences: ["istio-ca"],
      expirationSeconds: tokenSeconds,
      boundPod: { name: spec.name, uid },
    };
    await put(files.token, (await requestToken(host.client, order)).token);
  };
  await put(files.resolvConf, resolvConf(host.plan.hostAddress, spec.namespace, host.domain));
  await put(files.rootCert, await rootCertificate(host, spec.namespace, signal));
  await put(files.labels, labelsFile(spec.labels));
  await refreshToken();
  const timer = setInterval(
    () => refreshToken().catch((error: unknown) => host.log.warn(`${spec.name}: no new token: ${String(error)}`)),
    tokenSeconds * 500,
  );
  undo.push(async () => clearInterval(timer));
  return files;
}

/** Folders between the Pod's and the file's, for the user that the agent runs as. */
function makeFolders(top: string, file: string): void {
  const folders: string[] = [];
  for (let folder = dirname(file); folder.length > top.length; folder = dirname(folder)) folders.unshift(folder);
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chownSync(folder, proxyUser, proxyUser);
  }
}

/** As the downward API writes them. */
function labelsFile(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`)
    .join("");
}

/** The control plane writes it into every namespace, a moment after the namespace was made. */
async function rootCertificate(host: WorkloadHost, namespace: string, signal: AbortSignal): Promise<string> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(15_000)]);
  while (!deadline.aborted) {
    const found = await host.client.find(configMaps, { name: "istio-ca-root-cert", namespace });
    const data = found && isRecord(found.data) ? found.data["root-cert.pem"] : undefined;
    if (typeof data === "string") return data;
    await wait(100, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `namespace ${namespace} has no ConfigMap istio-ca-root-cert`, {
    hint: "is the control plane running? see its log",
  });
}

async function capture(host: WorkloadHost, network: PodNetwork, files: PodFiles): Promise<void> {
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

function startAgent(
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
    ISTIO_META_WORKLOAD_NAME: spec.labels.app ?? spec.name,
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

function startApp(host: WorkloadHost, spec: WorkloadSpec, network: PodNetwork, files: PodFiles): Running {
  const enter = enterCommand({ namespace: network.path, binds: binds(host, files) }, spec.command);
  const env = { ...baseEnv(), HOME: process.env.HOME ?? "/", HOSTNAME: spec.name, ...spec.env };
  return startProcess({ ...enter, env, line: (text) => host.line(spec.name, text), journal: host.journal });
}

async function execIn(
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

async function waitForProxy(agent: Running, address: string, signal: AbortSignal): Promise<void> {
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
async function waitForListen(app: Running, spec: WorkloadSpec, signal: AbortSignal): Promise<void> {
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

async function markReady(host: WorkloadHost, spec: WorkloadSpec): Promise<void> {
  const time = host.now().toISOString();
  const containers = spec.command.length > 0 ? ["app", "istio-proxy"] : ["istio-proxy"];
  await host.client.patchStatus(
    pods,
    { name: spec.name, namespace: spec.namespace },
    {
      phase: "Running",
      startTime: time,
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime: time,
      })),
      containerStatuses: containers.map((name) => ({
        name,
        ready: true,
        started: true,
        restartCount: 0,
        image: "",
        imageID: "",
        state: { running: { startedAt: time } },
      })),
    },
  );
}
