/** A mesh's API in; the files of a report on it, each without secrets, and what could not be had, out. */
import { type ClusterAccess, collectionPath, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, isRecord, readList, readNumber, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { logPath } from "../logs.ts";
import { allKinds, type NamedKind } from "../objects.ts";
import { debugOfPod } from "../pod-debug.ts";
import { printJson, printSortedYaml } from "../print.ts";
import { memberName } from "./member-name.ts";
import { redactDump, redactObject, redactText } from "./redact.ts";

export interface CollectOptions {
  readonly client: KubeClient;
  readonly access: ClusterAccess;
  readonly istioNamespace: string;
  /** Undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  /** Logs of applications too. */
  readonly allLogs: boolean;
  readonly since: string;
  readonly signal: AbortSignal;
  /** Told of each part that begins. */
  readonly tell: (what: string) => void;
}

export interface Report {
  readonly files: ReadonlyMap<string, string>;
  /** What is missing, and why. */
  readonly problems: readonly string[];
}

/** Dumps of the control plane; what each proxy is sent comes beside them. */
const debugPaths = [
  ...["syncz", "adsz", "registryz", "endpointShardz", "instancesz", "configz", "mesh", "clusterz", "push_status"],
  ...["authorizationz", "telemetryz", "cachez", "inject", "ca", "list"],
];
const mostLines = 20_000;

export async function collect(options: CollectOptions): Promise<Report> {
  const files = new Map<string, string>();
  const problems: string[] = [];
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      options.signal.throwIfAborted();
      await work();
    } catch (error) {
      options.signal.throwIfAborted();
      problems.push(`${what}: ${redactText(FairleadError.from(error).message)}`);
    }
  };
  options.tell("objects");
  const { kinds, faults } = await allKinds(options.client);
  for (const { version, error } of faults) await attempt(`kinds of ${version}`, () => Promise.reject(error));
  for (const kind of kinds)
    await attempt(`${kind.plural}.${kind.group}`, async () => {
      const items = await listed(options, kind);
      const group = kind.group === "" ? "core" : kind.group;
      if (items.length > 0)
        files.set(memberName("objects", group, `${kind.plural}.yaml`), printSortedYaml(items.map(redactObject)));
    });
  const pods = (await options.client.list(kubeKinds.pods)).items.filter(({ metadata }) => isWanted(options, metadata));
  options.tell("logs");
  for (const pod of pods) await collectLogs(options, pod, files, attempt);
  options.tell("the control plane");
  for (const pod of pods.filter(({ metadata }) => isControlPlane(options, metadata)))
    await collectDebug(options, pod, files, attempt);
  return { files, problems };
}

type Attempt = (what: string, work: () => Promise<void>) => Promise<void>;
type Meta = KubeObject["metadata"];

const isWanted = ({ namespaces, istioNamespace }: CollectOptions, { namespace = "" }: Meta): boolean =>
  namespaces === undefined || namespace === istioNamespace || namespaces.includes(namespace);

const isControlPlane = ({ istioNamespace }: CollectOptions, { namespace, labels = {} }: Meta): boolean =>
  namespace === istioNamespace && labels["app"] === "istiod";

/** What is computed when it is asked for, and who asks whom, is nothing that is there. */
async function listed(options: CollectOptions, kind: NamedKind): Promise<readonly KubeObject[]> {
  if (/review$/i.test(kind.kind) || kind.group === "metrics.k8s.io" || kind.group === "apiregistration.k8s.io")
    return [];
  const { items } = readRecord(await options.client.raw("GET", collectionPath(kind)));
  const head = { apiVersion: kind.group === "" ? kind.version : `${kind.group}/${kind.version}`, kind: kind.kind };
  return readList(items)
    .filter((item): item is KubeObject => isRecord(item) && isRecord(item["metadata"]))
    .map((item) => ({ ...item, ...head }))
    .filter(({ metadata }) => !kind.namespaced || isWanted(options, metadata));
}

async function collectLogs(
  options: CollectOptions,
  { metadata, spec, status }: KubeObject,
  files: Map<string, string>,
  attempt: Attempt,
): Promise<void> {
  const { name, namespace = "" } = metadata;
  const restarts = new Map(
    readList(readRecord(status)["containerStatuses"])
      .map(readRecord)
      .map((one) => [readText(one["name"]), readNumber(one["restartCount"]) ?? 0]),
  );
  const isMesh = namespace === options.istioNamespace;
  for (const one of readList(readRecord(spec)["containers"]).map(readRecord)) {
    const container = readText(one["name"]);
    if (!isMesh && !options.allLogs && container !== "istio-proxy") continue;
    const lives = [false, ...((restarts.get(container) ?? 0) > 0 ? [true] : [])];
    for (const previous of lives)
      await attempt(`log of ${namespace}/${name} ${container}`, async () => {
        const limits = { since: options.since, tail: String(mostLines), timestamps: true };
        const text = await options.client.text(logPath({ name, namespace }, { container, previous, ...limits }));
        const file = `${container}${previous ? ".previous" : ""}.log`;
        files.set(memberName("logs", namespace, name, file), redactText(text));
      });
  }
}

async function collectDebug(
  { access, signal }: CollectOptions,
  { metadata: { name, namespace = "" } }: KubeObject,
  files: Map<string, string>,
  attempt: Attempt,
): Promise<void> {
  const ask = debugOfPod(access, { name, namespace }, signal);
  const keep = async (path: string, ...file: readonly string[]): Promise<unknown> => {
    const answer = await ask(path);
    files.set(`${memberName("control-plane", name, ...file)}.json`, printJson(redactDump(answer), 1));
    return answer;
  };
  for (const path of debugPaths) await attempt(`${name} /debug/${path}`, async () => void (await keep(path, path)));
  await attempt(`${name}: dumps of proxies`, async () => {
    for (const row of readList(await ask("syncz")).map(readRecord)) {
      const proxy = readText(row["proxy"]);
      await attempt(`dump of ${proxy}`, async () => {
        await keep(`config_dump?include_eds&proxyID=${encodeURIComponent(proxy)}`, "proxies", proxy);
      });
    }
  });
}
