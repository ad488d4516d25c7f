/**
 * A Pod that was injected in; its containers out, run from the image as a kubelet would: environment and volumes from the
 * Pod and the API, init containers first, hooks, users and capabilities as the Pod says. Just what injected Pods use.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KubeClient, kubeKinds, requestToken } from "../../src/kube/index.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { eventually } from "../traffic/mesh.ts";
import { type Container, type ContainerSpec, type Host, startContainer, volumeFolder } from "./container.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface PodPlace {
  readonly host: Host;
  readonly api: { readonly client: KubeClient; readonly url: string; readonly ca: string };
  readonly address: string;
  /** Of the image: what a container has before the Pod's own settings. */
  readonly environment: Readonly<Record<string, string>>;
  /** What stands in for cluster DNS. */
  readonly hosts: Readonly<Record<string, string>>;
}

export interface RunningPod {
  /** The containers of the image that run on, by name. */
  readonly containers: ReadonlyMap<string, Container>;
  /** What the init containers that ended wrote. */
  readonly initOutput: string;
  close(): Promise<void>;
}

/** Runs what is of our image; the application is the test's own. */
export async function runPod(pod: KubeObject, place: PodPlace): Promise<RunningPod> {
  const volumes = volumeFolder();
  const spec = readRecord(pod.spec);
  const paths = await makeVolumes(pod, place, volumes.volume);
  const containers = new Map<string, Container>();
  let initOutput = "";
  const run = async (container: Fields, ends: boolean): Promise<void> => {
    if (!String(container.image).includes("/fairlead:")) return;
    const started = startContainer(place.host, containerSpec(container, pod, place, paths));
    const name = readText(container.name) ?? "";
    const failed = started.exited.then((status) => {
      if (status !== 0 || !ends) throw new Error(`${name} ended with ${status}:\n${started.output()}`);
    });
    failed.catch(() => {});
    if (!ends) containers.set(name, started);
    await (ends ? failed : Promise.race([failed, untilStarted(container, started, place.address)]));
    if (ends) initOutput += started.output();
  };
  for (const container of readList(spec.initContainers).map(readRecord))
    await run(container, container.restartPolicy !== "Always");
  for (const container of readList(spec.containers).map(readRecord)) await run(container, false);
  return {
    containers,
    initOutput,
    async close() {
      await Promise.all([...containers.values()].map((container) => container.stop()));
      volumes.remove();
    },
  };
}

/** Its hook and its startup probe, where it has them. */
async function untilStarted(container: Fields, started: Container, address: string): Promise<void> {
  const hook = readList(readRecord(readRecord(readRecord(container.lifecycle).postStart).exec).command).map(String);
  if (hook.length > 0) {
    const { status, stderr } = await started.exec(hook);
    if (status !== 0) throw new Error(`the hook ended with ${status}: ${stderr}`);
  }
  const { path, port } = readRecord(readRecord(container.startupProbe).httpGet);
  const probe = async (): Promise<boolean> =>
    (await fetch(`http://${address}:${Number(port)}${String(path)}`).catch(() => undefined))?.ok === true;
  if (port !== undefined) await eventually(probe, `the startup probe of ${String(container.name)}`, 60_000);
}

const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** By name, and what every Pod gets by its path. */
async function makeVolumes(
  pod: KubeObject,
  place: PodPlace,
  volume: (name: string) => string,
): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  for (const declared of readList(readRecord(pod.spec).volumes).map(readRecord)) {
    const name = readText(declared.name) ?? "";
    paths.set(name, volume(name));
    await fillVolume(declared, volume(name), pod, place);
  }
  const own = volume("of-every-pod");
  const names = Object.entries({ localhost: "127.0.0.1", ...place.hosts });
  writeFileSync(join(own, "hosts"), names.map(([name, address]) => `${address} ${name}\n`).join(""));
  writeFileSync(join(own, "token"), await tokenOf(pod, place, []));
  writeFileSync(join(own, "ca.crt"), place.api.ca);
  paths.set("/etc/hosts", join(own, "hosts"));
  paths.set(accountFolder, own);
  return paths;
}

function containerSpec(
  container: Fields,
  pod: KubeObject,
  { environment, address, api }: PodPlace,
  volumes: ReadonlyMap<string, string>,
): ContainerSpec {
  const security = readRecord(container.securityContext);
  const { hostname, port } = new URL(api.url);
  const cluster = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const env: Readonly<Record<string, string>> = {
    ...environment,
    ...cluster,
    ...environmentOf(container, pod, address),
  };
  const expand = (text: string): string => text.replace(/\$\((\w+)\)/g, (whole, name: string) => env[name] ?? whole);
  const mounts = readList(container.volumeMounts).map(readRecord);
  return {
    // One image, one entrypoint.
    command: ["/usr/local/bin/fairlead", ...readList(container.args).map(String).map(expand)],
    env,
    user: Number(security.runAsUser),
    readOnly: security.readOnlyRootFilesystem === true,
    capabilities: readList(readRecord(security.capabilities).add).map(String),
    mounts: new Map([
      ...[...volumes].filter(([name]) => name.startsWith("/")),
      ...mounts.map(({ name, mountPath }) => [String(mountPath), volumes.get(String(name)) ?? ""] as const),
    ]),
  };
}

export function environmentOf(container: Fields, pod: KubeObject, address: string): Readonly<Record<string, string>> {
  const limits = readRecord(readRecord(container.resources).limits);
  const resources: Readonly<Record<string, string>> = {
    "limits.cpu": String(amount(limits.cpu)),
    "limits.memory": String(amount(limits.memory)),
  };
  const entries = readList(container.env)
    .map(readRecord)
    .map(({ name, value, valueFrom }) => {
      const { fieldRef, resourceFieldRef } = readRecord(valueFrom);
      if (fieldRef) return [String(name), podField(pod, address, String(readRecord(fieldRef).fieldPath))] as const;
      if (resourceFieldRef)
        return [String(name), resources[String(readRecord(resourceFieldRef).resource)] ?? ""] as const;
      return [String(name), readText(value) ?? ""] as const;
    });
  return Object.fromEntries(entries);
}

const units: Readonly<Record<string, number>> = { m: 0.001, Mi: 2 ** 20, Gi: 2 ** 30 };

/** A quantity in whole units, rounded up. */
function amount(quantity: unknown): number {
  const [, number = "0", unit = ""] = /^(\d+)(\w*)$/.exec(String(quantity)) ?? [];
  return Math.ceil(Number(number) * (units[unit] ?? 1));
}

function podField(pod: KubeObject, address: string, path: string): string {
  const spec = readRecord(pod.spec);
  const fields: Readonly<Record<string, string | undefined>> = {
    "metadata.name": pod.metadata.name,
    "metadata.namespace": pod.metadata.namespace,
    "status.podIP": address,
    "status.hostIP": address,
    "spec.serviceAccountName": readText(spec.serviceAccountName),
    "spec.nodeName": readText(spec.nodeName) ?? "",
  };
  const found = fields[path];
  if (found === undefined) throw new Error(`no such field of a Pod: ${path}`);
  return found;
}

async function fillVolume(volume: Fields, folder: string, pod: KubeObject, place: PodPlace): Promise<void> {
  const { namespace } = pod.metadata;
  const { client } = place.api;
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text, { mode: 0o644 });
  const quoted = (map: Readonly<Record<string, string>> = {}): string =>
    Object.entries(map)
      .map(([name, text]) => `${name}=${JSON.stringify(text)}\n`)
      .join("");
  if (volume.downwardAPI) {
    write("labels", quoted(pod.metadata.labels));
    write("annotations", quoted(pod.metadata.annotations));
  }
  for (const { serviceAccountToken } of readList(readRecord(volume.projected).sources).map(readRecord)) {
    const { path, audience } = readRecord(serviceAccountToken);
    write(String(path), await tokenOf(pod, place, [String(audience)]));
  }
  const { name, optional } = readRecord(volume.configMap);
  if (name === undefined) return;
  const found = await client.find(kubeKinds.configMaps, { name: String(name), namespace });
  if (!found && optional !== true) throw new Error(`no ConfigMap ${String(name)}`);
  for (const [path, text] of Object.entries(readRecord(found?.data))) write(path, String(text));
}

async function tokenOf(pod: KubeObject, { api }: PodPlace, audiences: readonly string[]): Promise<string> {
  const { namespace = "", name, uid = "" } = pod.metadata;
  const serviceAccount = readText(readRecord(pod.spec).serviceAccountName) ?? "default";
  return (await requestToken(api.client, { serviceAccount, namespace, audiences, boundPod: { name, uid } })).token;
}
