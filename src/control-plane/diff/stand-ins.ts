/**
 * Objects without any Pod that has a proxy in; a Pod for each workload among them out: for each Deployment and the like,
 * or, where there is none either, for each Service that selects something. So that what people keep in files renders.
 */
import { isRecord, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";

interface Workload {
  readonly object: KubeObject;
  readonly labels: Labels;
  /** Labels that its Pods most likely have besides: a Service of a gateway is written with those of the gateway's Pods. */
  readonly likely: Labels;
  readonly account: string;
}

export const workloadKinds: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]);

/** By object, the Pod that stands for it, numbered for its address. Empty where there are Pods with proxies. */
export function standIns(
  objects: readonly KubeObject[],
  numberOf?: (object: KubeObject) => number,
): ReadonlyMap<KubeObject, KubeObject> {
  if (objects.some(hasProxy)) return new Map();
  const workloads = objects.filter(({ kind }) => workloadKinds.has(kind)).map(ofTemplate);
  const services = objects.filter(({ kind, apiVersion }) => kind === "Service" && apiVersion === "v1").map(ofSelector);
  const meant = (workloads.length > 0 ? workloads : services).filter(({ labels }) => Object.keys(labels).length > 0);
  const gateways = objects.filter(({ kind, apiVersion }) => kind === "Gateway" && apiVersion.includes("istio.io/"));
  const selectors = gateways.map(({ spec }) => textMap(readRecord(spec).selector));
  return new Map(
    meant.map((workload, i) => [workload.object, podOf(workload, selectors, (numberOf?.(workload.object) ?? i) + 1)]),
  );
}

function hasProxy({ kind, spec }: KubeObject): boolean {
  if (kind !== "Pod") return false;
  const { containers, initContainers } = readRecord(spec);
  const all = [containers, initContainers].flatMap((list) => (Array.isArray(list) ? list : []));
  return all.some((container) => isRecord(container) && container.name === "istio-proxy");
}

function ofTemplate(object: KubeObject): Workload {
  const template = readRecord(readRecord(object.spec).template);
  return {
    object,
    labels: textMap(readRecord(template.metadata).labels),
    likely: {},
    account: readText(readRecord(template.spec).serviceAccountName),
  };
}

function ofSelector(object: KubeObject): Workload {
  const { labels = {} } = object.metadata;
  return { object, labels: textMap(readRecord(object.spec).selector), likely: labels, account: "" };
}

/** A workload that a Gateway selects is one, and has the labels that it is selected by. */
function podOf({ object, labels, likely, account }: Workload, gateways: readonly Labels[], n: number): KubeObject {
  const selecting = gateways.filter((selector) => selects(selector, { ...likely, ...labels }));
  const address = `10.244.${Math.floor(n / 250)}.${(n % 250) + 1}`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: object.metadata.name,
      namespace: object.metadata.namespace ?? "default",
      labels: { ...Object.assign({}, ...selecting), ...labels, "security.istio.io/tlsMode": "istio" },
    },
    spec: {
      // As Kubernetes does where a Pod names none.
      serviceAccountName: account === "" ? "default" : account,
      containers: [{ name: "istio-proxy", args: ["proxy", selecting.length > 0 ? "router" : "sidecar"] }],
    },
    status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
  };
}

type Labels = Readonly<Record<string, string>>;

function selects(selector: Labels, labels: Labels): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}

function textMap(value: unknown): Labels {
  const entries = Object.entries(readRecord(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(entries);
}
