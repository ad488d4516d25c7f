/**
 * A cluster whose Pods nobody runs in; its Pods run on this machine out, each in a network namespace: those of our image from
 * its root filesystem, the suite's servers as plain processes. What neither is counts as ready, so that nobody waits for it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environment } from "../../scripts/image/layers.ts";
import { kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { enterCommand } from "../../src/standalone/enter.ts";
import { startProcess } from "../../src/standalone/index.ts";
import { environmentOf, type PodPlace, runPod } from "../image/kubelet.ts";
import { untilProxyReady } from "../swap/workload.ts";
import { eventually } from "../traffic/mesh.ts";
import type { TrafficNetwork } from "../traffic/network.ts";
import { servePodLogs } from "./logs.ts";
import { lookAgain } from "./look-again.ts";

export interface PodRunnerOptions {
  readonly api: PodPlace["api"];
  readonly network: TrafficNetwork;
  /** Of our image. */
  readonly root: string;
  /** The suite's server. */
  readonly echo: string;
  readonly hosts: Readonly<Record<string, string>>;
  readonly say: (text: string) => void;
}

interface PodOptions extends PodRunnerOptions {
  readonly log: (line: string) => void;
}

export interface PodRunner {
  close(): Promise<void>;
}

interface Running {
  readonly name: string;
  readonly ended: Promise<void>;
  stop(): void;
}

const node = "here";

export async function runPods(options: PodRunnerOptions): Promise<PodRunner> {
  const { client } = options.api;
  const running = new Map<string, Running>();
  const host = await options.network.hostAddress();
  const logs = await servePodLogs(host);
  const object = { apiVersion: "v1", kind: "Node", metadata: { name: node } };
  await client.patch(kubeKinds.nodes, { name: node }, "apply", object, { fieldManager: "suite", force: true });
  await client.patchStatus(
    kubeKinds.nodes,
    { name: node },
    {
      addresses: [{ type: "InternalIP", address: host }],
      daemonEndpoints: { kubeletEndpoint: { Port: logs.port } },
    },
  );
  const begin = (pod: KubeObject): Running => {
    const stop = Promise.withResolvers<void>();
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const ended = live(pod, { ...options, log: (line) => logs.add(name, line) }, stop.promise).catch((error) =>
      options.say(`${name}: ${error.message}`),
    );
    return { name, ended, stop: stop.resolve };
  };
  const look = async (): Promise<void> => {
    const { items } = await client.list(kubeKinds.pods);
    const wanted = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const present = new Set(wanted.map(({ metadata }) => metadata.uid ?? ""));
    for (const [uid, one] of running)
      if (!present.has(uid)) {
        one.stop();
        running.delete(uid);
      }
    for (const pod of wanted) {
      const { uid = "", namespace } = pod.metadata;
      if (!running.has(uid) && namespace !== "istio-system") running.set(uid, begin(pod));
    }
  };
  const looking = lookAgain("Pods", look, options.say);
  return {
    async close() {
      await looking.close();
      for (const one of running.values()) one.stop();
      await Promise.all([...running.values()].map(({ ended }) => ended));
      logs.close();
    },
  };
}

/** From its start until it is to stop. */
async function live(pod: KubeObject, options: PodOptions, stopped: Promise<void>): Promise<void> {
  const at = await options.network.pod();
  const { name, namespace } = pod.metadata;
  const { client } = options.api;
  try {
    // Only Pods that have a node become endpoints.
    if (readText(readRecord(pod.spec).nodeName) === "")
      await client.createSubresource(kubeKinds.pods, { name, namespace }, "binding", {
        ...{ apiVersion: "v1", kind: "Binding", metadata: { name } },
        target: { apiVersion: "v1", kind: "Node", name: node },
      });
    for (const { name, value } of readList(readRecord(readRecord(pod.spec).securityContext).sysctls).map(readRecord))
      await setKernel(at.path, String(name), String(value), options);
    const started = await start(pod, at, options);
    await tellReady(pod, at.address, options);
    await stopped;
    await started.close();
  } finally {
    await at.remove();
    await client.delete(kubeKinds.pods, { name, namespace }, { gracePeriodSeconds: 0 }).catch(() => {});
  }
}

async function start(
  pod: KubeObject,
  at: { readonly address: string; readonly path: string },
  options: PodOptions,
): Promise<{ close(): Promise<unknown> }> {
  const [container = {}] = readList(readRecord(pod.spec).containers).map(readRecord);
  const image = readText(container.image);
  if (image.includes("/fairlead:")) {
    const host = { root: options.root, journal: options.network.journal, network: at.path };
    const started = await runPod(pod, { ...options, host, address: at.address, environment });
    await untilProxyReady(pod.metadata.name, at.address);
    return started;
  }
  if (image.includes("/echo-basic:")) return startEcho(pod, container, at, options);
  return { close: async () => {} };
}

/** Its certificates are where its environment says, with another beginning. */
async function startEcho(
  pod: KubeObject,
  container: Readonly<Record<string, unknown>>,
  at: { readonly address: string; readonly path: string },
  options: PodOptions,
): Promise<{ close(): Promise<unknown> }> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-echo-"));
  for (const { name, secret } of readList(readRecord(pod.spec).volumes).map(readRecord))
    if (secret) await writeSecret(join(dir, String(name)), readRecord(secret), pod, options);
  const mounts = readList(container.volumeMounts).map(readRecord);
  const here = (path: string): string => {
    const mount = mounts.find(({ mountPath }) => path.startsWith(`${String(mountPath)}/`));
    return mount ? join(dir, String(mount.name), path.slice(String(mount.mountPath).length)) : path;
  };
  const env = Object.entries(environmentOf(container, pod, at.address)).map(([name, value]) => [name, here(value)]);
  const { file, args } = enterCommand({ namespace: at.path, binds: [] }, [options.echo]);
  const running = startProcess({
    ...{ file, args, cwd: dir, journal: options.network.journal, output: options.log },
    env: { PATH: process.env.PATH ?? "/usr/bin", ...Object.fromEntries(env) },
  });
  let closing = false;
  void running.exited.then((status) => {
    if (!closing) options.say(`${pod.metadata.name} ended with ${status}`);
  });
  return {
    async close() {
      closing = true;
      await running.stop(2_000);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function writeSecret(
  folder: string,
  volume: Readonly<Record<string, unknown>>,
  { metadata }: KubeObject,
  { api }: PodRunnerOptions,
): Promise<void> {
  const name = readText(volume.secretName);
  const { namespace } = metadata;
  await eventually(
    async () => (await api.client.find(kubeKinds.secrets, { name, namespace })) !== undefined,
    `Secret ${name}`,
    60_000,
  );
  const data = readRecord((await api.client.get(kubeKinds.secrets, { name, namespace })).data);
  const items = readList(volume.items).map(readRecord);
  mkdirSync(folder, { recursive: true });
  for (const [key, text] of Object.entries(data)) {
    const path = items.find((item) => item.key === key)?.path ?? key;
    writeFileSync(join(folder, String(path)), Buffer.from(String(text), "base64"));
  }
}

async function setKernel(path: string, name: string, value: string, { network }: PodRunnerOptions): Promise<void> {
  const args = [`--net=${path}`, "--", "sysctl", "-q", "-w", `${name}=${value}`];
  const { exited } = startProcess({
    file: "nsenter",
    args,
    env: { PATH: process.env.PATH ?? "" },
    output: () => {},
    journal: network.journal,
  });
  if ((await exited) !== 0) throw new Error(`${name}=${value} cannot be set`);
}

async function tellReady(pod: KubeObject, address: string, { api }: PodRunnerOptions): Promise<void> {
  const { name, namespace } = pod.metadata;
  const condition = (type: string): object => ({ type, status: "True", lastTransitionTime: new Date().toISOString() });
  await api.client.patchStatus(
    kubeKinds.pods,
    { name, namespace },
    {
      phase: "Running",
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition),
    },
  );
}
