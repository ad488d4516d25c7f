/** The files that a workload's agent finds where Istio's agent looks for them: token, roots, what is revoked, labels, resolv.conf. */
import { chownSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { requestToken } from "../../kube/index.ts";
import { FairleadError, isRecord, readRecord, readText, wait } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { replaceSecretFile } from "../../pki/index.ts";
import { resolvConf } from "../enter.ts";
import { configMaps } from "../kinds.ts";
import { proxyUser, type Undo, type WorkloadHost } from "./spec.ts";

const tokenSeconds = 3600;

export interface PodFiles {
  readonly dir: string;
  readonly resolvConf: string;
  readonly token: string;
  readonly rootCert: string;
  readonly revoked: string;
  readonly labels: string;
}

export async function prepareFiles(
  host: WorkloadHost,
  pod: KubeObject,
  uid: string,
  id: string,
  undo: Undo,
  signal: AbortSignal,
): Promise<PodFiles> {
  const { name, namespace = "default", labels = {}, annotations = {} } = pod.metadata;
  const serviceAccount = readText(readRecord(pod.spec).serviceAccountName);
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
    revoked: join(dir, "var/run/secrets/istio/crl/ca-crl.pem"),
    labels: join(dir, "etc/istio/pod/labels"),
  };
  const put = async (file: string, content: string): Promise<void> => {
    makeFolders(dir, file);
    await replaceSecretFile(file, content);
    chownSync(file, proxyUser, proxyUser);
  };
  const refreshToken = async (): Promise<void> => {
    const order = {
      namespace,
      serviceAccount,
      audiences: ["istio-ca"],
      expirationSeconds: tokenSeconds,
      boundPod: { name, uid },
    };
    await put(files.token, (await requestToken(host.client, order)).token);
  };
  await put(files.resolvConf, resolvConf(host.plan.hostAddress, namespace, host.domain));
  let roots = await rootCertificate(host, namespace, signal);
  await put(files.rootCert, roots);
  const refreshRoots = async (): Promise<void> => {
    const found = (await readRoots(host, namespace)) ?? roots;
    if (found === roots) return;
    await put(files.rootCert, found);
    roots = found;
  };
  // The agent watches the folder, also while there is nothing in it.
  makeFolders(dir, files.revoked);
  let revoked = "";
  const refreshRevoked = async (): Promise<void> => {
    const found = (await readMap(host, namespace, "istio-ca-crl", "ca-crl.pem")) ?? "";
    if (found === revoked) return;
    await put(files.revoked, found);
    revoked = found;
  };
  await refreshRevoked();
  await put(files.labels, downwardFile(labels));
  await put(join(dir, "etc/istio/pod/annotations"), downwardFile(annotations));
  await refreshToken();
  const stop = new AbortController();
  undo.push(async () => stop.abort());
  const failed =
    (what: string) =>
    (error: unknown): void =>
      host.log.debug(`${name}: no new ${what}: ${String(error)}`);
  // A token at half its life; of roots nobody is told, so they are looked at, as a kubelet does.
  void keepFresh(refreshToken, tokenSeconds * 500, failed("token"), stop.signal);
  void keepFresh(refreshRoots, retryMs, failed("roots"), stop.signal);
  void keepFresh(refreshRevoked, retryMs, failed("list of revoked certificates"), stop.signal);
  return files;
}

const retryMs = 10_000;

/** While the API is away, tried again and again. */
async function keepFresh(
  refresh: () => Promise<void>,
  everyMs: number,
  failed: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = everyMs; !signal.aborted; ) {
    await wait(pauseMs, signal).catch(() => {});
    if (signal.aborted) return;
    pauseMs = await refresh().then(
      () => everyMs,
      (error: unknown) => {
        failed(error);
        return retryMs;
      },
    );
  }
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
function downwardFile(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`)
    .join("");
}

/** The control plane writes it into every namespace, a moment after the namespace was made. */
async function rootCertificate(host: WorkloadHost, namespace: string, signal: AbortSignal): Promise<string> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(15_000)]);
  while (!deadline.aborted) {
    const found = await readRoots(host, namespace);
    if (found !== undefined) return found;
    await wait(100, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `namespace ${namespace} has no ConfigMap istio-ca-root-cert`, {
    hint: "is the control plane running? see its log",
  });
}

const readRoots = (host: WorkloadHost, namespace: string): Promise<string | undefined> =>
  readMap(host, namespace, "istio-ca-root-cert", "root-cert.pem");

async function readMap(host: WorkloadHost, namespace: string, name: string, file: string): Promise<string | undefined> {
  const found = await host.client.find(configMaps, { name, namespace });
  const data = found && isRecord(found.data) ? found.data[file] : undefined;
  return typeof data === "string" ? data : undefined;
}
