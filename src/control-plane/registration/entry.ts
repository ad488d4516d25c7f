/**
 * What a workload outside Kubernetes says of itself and its WorkloadGroup in; its WorkloadEntry by istiod's names and
 * annotations, and what connecting, leaving and time do to it, out. Nothing here talks to anybody.
 */
import { readList, readRecord, readText, readTextMap } from "../../lib/index.ts";
import { type Identity, type KubeObject, workloadEntry, workloadGroup } from "../../model/index.ts";
import { type ProxyNode, parseNodeId } from "../../xds/index.ts";

const groupAnnotation = "istio.io/autoRegistrationGroup";
export const controllerAnnotation = "istio.io/workloadController";
export const connectedAnnotation = "istio.io/connectedAt";
const disconnectedAnnotation = "istio.io/disconnectedAt";
const healthAnnotation = "proxy.istio.io/health-checks-enabled";

/** Which entry stands for a proxy. */
export interface EntryRef {
  readonly namespace: string;
  readonly name: string;
  /** Its WorkloadGroup; undefined for an entry that somebody wrote by hand, whose health alone is reported. */
  readonly group: string | undefined;
}

const maxNameLength = 253;

/** Undefined for Pods, which need none. */
export function entryOf(node: ProxyNode): EntryRef | undefined {
  const id = parseNodeId(node.id);
  const namespace = readText(node.metadata.NAMESPACE) || id?.namespace || "";
  const group = readText(node.metadata.AUTO_REGISTER_GROUP);
  const written = readText(node.metadata.WORKLOAD_ENTRY);
  if (namespace === "" || (group === "" && written === "")) return undefined;
  if (group === "") return { namespace, name: written, group: undefined };
  const parts = [group, addressOf(node).replaceAll(":", "-"), readText(node.metadata.NETWORK)];
  const name = parts.filter((part) => part !== "").join("-");
  return { namespace, name: name.slice(-maxNameLength), group };
}

function addressOf(node: ProxyNode): string {
  const [first = ""] = readText(node.metadata.INSTANCE_IPS).split(",");
  return first.trim() || (parseNodeId(node.id)?.ip ?? "");
}

/** Of labels, what the proxy says wins over the group's metadata, and this over its template. */
export function entryFromGroup(ref: EntryRef, node: ProxyNode, group: KubeObject): KubeObject {
  const { metadata, template } = readRecord(group.spec);
  const extra = readRecord(metadata);
  const { "istio-locality": _, ...own } = readTextMap(node.metadata.LABELS);
  const labels = { ...readTextMap(readRecord(template).labels), ...readTextMap(extra.labels), ...own };
  const network = readText(node.metadata.NETWORK);
  const { region, zone, subZone } = node.locality;
  const locality = [region, zone, subZone].filter((part) => part !== "").join("/");
  return {
    apiVersion: `${workloadEntry.group}/v1`,
    kind: workloadEntry.kind,
    metadata: {
      name: ref.name,
      namespace: ref.namespace,
      labels,
      annotations: {
        [groupAnnotation]: group.metadata.name,
        ...readTextMap(extra.annotations),
        ...(isProbed(node) ? { [healthAnnotation]: "true" } : {}),
      },
      ownerReferences: [
        {
          apiVersion: `${workloadGroup.group}/v1`,
          kind: workloadGroup.kind,
          name: group.metadata.name,
          uid: group.metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    spec: {
      ...readRecord(template),
      address: addressOf(node),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(network === "" ? {} : { network }),
      ...(locality === "" ? {} : { locality }),
    },
  };
}

const isProbed = (node: ProxyNode): boolean => readRecord(node.metadata.PROXY_CONFIG).readinessProbe !== undefined;

export const isHealthChecked = ({ metadata }: KubeObject): boolean =>
  metadata.annotations?.[healthAnnotation] !== undefined;

/** Why the caller may not stand for the entry; undefined where it may. */
export function whyNotOwner(identity: Identity | undefined, { metadata, spec }: KubeObject): string | undefined {
  if (!identity) return "registration of WorkloadEntry requires a verified identity";
  if (identity.namespace !== metadata.namespace)
    return `registration of WorkloadEntry namespace mismatch: "${identity.namespace}" vs "${metadata.namespace ?? ""}"`;
  const account = readText(readRecord(spec).serviceAccount);
  if (account !== "" && account !== identity.serviceAccount)
    return `registration of WorkloadEntry service account mismatch: "${identity.serviceAccount}" vs "${account}"`;
  return undefined;
}

export type Annotations = Readonly<Record<string, string | null>>;

/** The change that says who has the workload since when; undefined where a later event is written down already. */
export function connectedChange({ metadata }: KubeObject, controller: string, at: Date): Annotations | undefined {
  const left = timeOf(metadata, disconnectedAnnotation);
  const last = timeOf(metadata, connectedAnnotation);
  const atMs = at.getTime();
  if ((left !== undefined && atMs < left) || (last !== undefined && atMs < last)) return undefined;
  if (metadata.annotations?.[controllerAnnotation] === controller && last === atMs) return undefined;
  return {
    [controllerAnnotation]: controller,
    [connectedAnnotation]: at.toISOString(),
    [disconnectedAnnotation]: null,
  };
}

/** Undefined where the workload has come back since, here or to another control plane. */
export function disconnectedChange(
  { metadata }: KubeObject,
  controller: string,
  times: { readonly connected: Date; readonly left: Date },
): Annotations | undefined {
  const last = timeOf(metadata, connectedAnnotation);
  if (metadata.annotations?.[controllerAnnotation] !== controller) return undefined;
  if (last !== undefined && last > times.connected.getTime()) return undefined;
  return { [connectedAnnotation]: null, [disconnectedAnnotation]: times.left.toISOString() };
}

export interface Ages {
  readonly graceMs: number;
  /** A workload that is connected says so again within this time; one that does not has gone with its control plane. */
  readonly maxSilenceMs: number;
}

/** Whether nothing has been heard of the workload for too long. */
export function isOverdue({ metadata, status }: KubeObject, now: Date, ages: Ages): boolean {
  if (!isRegistered({ metadata }) && !(metadata.annotations?.[controllerAnnotation] && hasHealth(status))) return false;
  const connected = timeOf(metadata, connectedAnnotation);
  if (connected !== undefined) return now.getTime() - connected > ages.maxSilenceMs;
  const left = timeOf(metadata, disconnectedAnnotation);
  return left !== undefined && now.getTime() - left >= ages.graceMs;
}

export const isRegistered = ({ metadata }: Pick<KubeObject, "metadata">): boolean =>
  Boolean(metadata.annotations?.[groupAnnotation]);

function timeOf({ annotations }: KubeObject["metadata"], name: string): number | undefined {
  const ms = Date.parse(annotations?.[name] ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

const conditionsOf = (status: unknown): readonly Readonly<Record<string, unknown>>[] =>
  readList(readRecord(status).conditions).map(readRecord);

const hasHealth = (status: unknown): boolean => conditionsOf(status).some(({ type }) => type === "Healthy");

/** All conditions, with health as reported; undefined takes what was reported away. */
export function conditionsWith(
  status: unknown,
  report: { readonly error: string | undefined; readonly at: Date } | undefined,
): readonly unknown[] {
  const others = conditionsOf(status).filter(({ type }) => type !== "Healthy");
  if (!report) return others;
  const at = report.at.toISOString();
  const verdict = report.error === undefined ? { status: "True" } : { status: "False", message: report.error };
  return [...others, { type: "Healthy", ...verdict, lastProbeTime: at, lastTransitionTime: at }];
}

/** When health was last reported. */
export function reportedAt(status: unknown): number {
  const found = conditionsOf(status).find(({ type }) => type === "Healthy");
  const ms = Date.parse(readText(found?.lastProbeTime));
  return Number.isNaN(ms) ? 0 : ms;
}
