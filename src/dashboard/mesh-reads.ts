/**
 * What a control plane lets others read of it, as data: the port that the page's handlers ask, and the shapes of its
 * answers. The page in the browser uses the same types.
 */

import type { DiffAnswer, DiffQuestion } from "./diff-read.ts";
import type { Mistake, WhyAnswer, WhyQuestion } from "./why-read.ts";

/** What is wrong, with what to do about it. */
export interface Finding {
  readonly level: "error" | "warning" | "info";
  /** One word or two, by which findings of a kind are known: `refused by Envoy`. */
  readonly what: string;
  /** `Kind/namespace/name`. */
  readonly object?: string;
  readonly field?: string;
  /** `pod.namespace`. */
  readonly proxy?: string;
  readonly message: string;
  readonly remedy: string;
  /** Whose names are in the message, where it has neither object nor proxy. */
  readonly namespaces?: readonly string[];
}

export interface Overview {
  readonly version: string;
  readonly since: string;
  /** Worst first. */
  readonly findings: readonly Finding[];
  readonly figures: readonly Figure[];
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  /** What it is about, where that is not plain. */
  readonly note?: string;
}

export type ProxyState = "in step" | "behind" | "refuses" | "held back";

export interface ProxyRow {
  /** `pod.namespace`. */
  readonly id: string;
  readonly namespace: string;
  readonly kind: string;
  readonly version: string;
  readonly state: ProxyState;
  /** Since when it is not in step; else when it last acknowledged. */
  readonly since: string;
  readonly connectedAt: string;
}

export interface ProxyDetail extends ProxyRow {
  readonly identity: string;
  readonly address: string;
  readonly types: readonly ProxyType[];
  readonly held: readonly { readonly type: string; readonly name: string; readonly clusters: readonly string[] }[];
  readonly certificate?: CertificateHolder;
  /** Objects that are withheld from it, or whose parts it refuses. */
  readonly refuses: readonly Refused[];
}

export interface Refused {
  readonly resource: string;
  readonly words: string;
  readonly objects: readonly Cause[];
}

export interface Cause {
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly field?: string;
}

export interface ProxyType {
  /** `CDS`, `LDS`, … */
  readonly type: string;
  readonly resources: number;
  readonly sentAt?: string;
  readonly ackedAt?: string;
  readonly error: string;
}

/** One resource that a proxy is sent, as a row: what it is called, and who made it. */
export interface ResourceRow {
  readonly name: string;
  readonly causes: readonly Cause[];
}

export interface ResourceDetail extends ResourceRow {
  readonly type: string;
  readonly json: unknown;
  /** What it leads to. */
  readonly next: readonly { readonly type: string; readonly name: string }[];
}

export interface ServiceRow {
  /** `namespace/host`. */
  readonly id: string;
  readonly namespace: string;
  readonly host: string;
  readonly object: string;
  readonly ports: readonly string[];
  readonly endpoints: number;
  readonly healthy: number;
}

/** Something that holds for a workload or a host, and where it comes from. */
export interface Effect {
  /** `mutual TLS`, `authorization`, … */
  readonly about: string;
  readonly says: string;
  /** Absent where nobody said so, or it may not be seen. */
  readonly object?: string;
  readonly field?: string;
}

export interface Version {
  readonly name: string;
  readonly endpoints: number;
  readonly healthy: number;
  /** Of a subset, who declares it. */
  readonly object?: string;
  readonly field?: string;
}

/** A route that leads to a host. */
export interface RouteTo {
  readonly object: string;
  readonly field: string;
  /** Which requests take it. */
  readonly requests: string;
  /** Subsets of the host itself by their name alone. */
  readonly to: readonly { readonly name: string; readonly weight: number }[];
  /** What else it does to them: faults, timeouts, retries, mirrors. */
  readonly marks: readonly string[];
}

/** What is seen of requests to or from a place. */
export interface Seen {
  readonly callers: readonly GraphEdge[];
  /** Of what came to it, oldest first. */
  readonly series: readonly TrafficSlot[];
}

export interface NamespaceRow {
  readonly name: string;
  readonly services: number;
  readonly proxies: number;
  readonly objects: number;
  readonly problems: number;
  /** As for a workload that nothing selects. */
  readonly mutualTls: string;
}

export interface NamespaceDetail extends NamespaceRow, Seen {
  /** What holds for all of it. */
  readonly policies: readonly Effect[];
  readonly calls: readonly GraphEdge[];
  readonly serviceList: readonly ServiceRow[];
  readonly proxyList: readonly ProxyRow[];
  readonly objectList: readonly ObjectRow[];
}

export interface ServiceDetail extends ServiceRow, Seen {
  readonly versions: readonly Version[];
  readonly routes: readonly RouteTo[];
  /** How clients connect, and what holds for those who serve it. */
  readonly policies: readonly Effect[];
  readonly addresses: readonly string[];
  readonly endpointList: readonly EndpointRow[];
  /** Objects of users that say something about this host. */
  readonly objects: readonly { readonly object: string; readonly effect: string }[];
}

export interface EndpointRow {
  readonly address: string;
  readonly port: string;
  readonly health: string;
  readonly workload: string;
  readonly identity: string;
  readonly locality: string;
}

export interface ObjectRow {
  /** `Kind/namespace/name`. */
  readonly id: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation?: number;
  readonly problems: number;
}

export interface ObjectDetail extends ObjectRow {
  /** As it is written; a comment where it is too long to be shown. */
  readonly yaml: string;
  /** As YAML; absent where it has none. */
  readonly status?: string;
  readonly resourceVersion?: string;
  readonly findings: readonly Finding[];
  /** Which proxies have it; absent where its kind reaches none. */
  readonly programmed?: {
    readonly isDone: boolean;
    readonly message: string;
    readonly affected: number;
    readonly acknowledged: number;
    readonly refusing: readonly { readonly proxy: string; readonly part: string; readonly words: string }[];
    readonly waiting: readonly string[];
  };
  /** What of proxies was made from it. */
  readonly parts: readonly { readonly type: string; readonly name: string; readonly proxies: number }[];
  readonly changes: readonly Change[];
}

export interface Change {
  /** Grows by one with each. */
  readonly id: number;
  readonly object: string;
  readonly namespace: string;
  readonly act: "added" | "changed" | "removed";
  readonly at: string;
  readonly generation?: number;
  /** Who wrote it, as the API notes it: a program (`kubectl-edit`), and how (`Update`, `Apply`). */
  readonly author?: { readonly manager: string; readonly operation: string };
  /** Lines of its YAML: `+`, `-` or a blank, then the line. */
  readonly diff: readonly string[];
  /** Who has it; absent until it is made for proxies. */
  readonly proxies?: ChangeProxies;
  /** What of proxies became another because of it; absent until it is made for them. */
  readonly touched?: readonly TouchedResource[];
  /** How many more. */
  readonly untold?: number;
}

export interface ChangeProxies {
  readonly affected: number;
  readonly acknowledged: number;
  readonly waiting: number;
  /** With Envoy's words; of many the first. */
  readonly refusing: readonly { readonly proxy: string; readonly part: string; readonly words: string }[];
  /** Another change of the object came before all had this one. */
  readonly isOvertaken: boolean;
}

export interface TouchedResource {
  /** `CDS`, `LDS`, … */
  readonly type: string;
  readonly name: string;
  readonly act: "added" | "changed" | "removed";
  readonly proxies: number;
}

/** A change as a row of a list. */
export interface ChangeRow extends Omit<Change, "diff" | "touched" | "untold"> {
  readonly more: number;
  readonly less: number;
}

export interface ChangeDetail extends Change {
  /** Of each of `touched`, in its order, the fields that differ; undefined where that is no longer known. */
  readonly envoy: readonly (readonly string[] | undefined)[];
}

export interface Identities {
  readonly source: string;
  readonly signer?: CertificateFacts;
  readonly roots: readonly CertificateFacts[];
  /** Why what was given as a CA is not used. */
  readonly refused?: string;
  readonly rotation?: Rotation;
  readonly proxies: readonly CertificateHolder[];
  /** By this control plane since it began, the last 500, newest first. */
  readonly issued: readonly IssuedCertificate[];
}

export interface Rotation {
  readonly id: string;
  readonly phase: string;
  readonly startedAt: string;
  readonly since: string;
  readonly rollback: boolean;
  /** Proxies that are no longer waited for. */
  readonly ignored: readonly string[];
}

export interface CertificateHolder {
  /** `pod.namespace`. */
  readonly proxy: string;
  /** How it learns of roots. */
  readonly told: string;
  readonly believesAll: boolean;
  readonly signedBy: string;
  readonly isReissued: boolean;
  /** Of its certificate, where this control plane has issued it since it began. */
  readonly serial?: string;
  readonly until?: string;
}

/** A certificate that was issued. */
export interface IssuedCertificate {
  readonly identity: string;
  readonly namespace: string;
  /** Empty where nothing says in which Pod it is. */
  readonly pod: string;
  /** That it was asked for from. */
  readonly address: string;
  readonly serial: string;
  readonly until: string;
}

/** Lines of what a proxy is sent that have the words that were looked for. */
export interface FoundLines {
  readonly lines: readonly FoundLine[];
  /** How many have them. */
  readonly resources: number;
  /** False: there was too much to look through all of it. */
  readonly isWhole: boolean;
}

export interface FoundLine {
  readonly type: string;
  readonly name: string;
  readonly line: string;
}

export interface CertificateFacts {
  readonly name: string;
  readonly subject: string;
  readonly serial: string;
  readonly fingerprint: string;
  readonly until: string;
}

/** What is drawn: who talks with whom, of the last while. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Of what there is, how much is not drawn: the least busy. */
  readonly folded: { readonly nodes: number; readonly edges: number };
  readonly seconds: number;
  readonly reporters: number;
  /** Replicas of the control plane that did not say what their agents have told them. */
  readonly silent: number;
}

/** Stands for all workloads of namespaces that whoever looks may not see. No namespace can have this name. */
export const elsewhere = "(elsewhere)";

export type MarkKind =
  | "authorization"
  | "authentication"
  | "mutual TLS"
  | "patch"
  | "extension"
  | "fault"
  | "mirror"
  | "timeout"
  | "retries"
  | "rewrite"
  | "circuit breaker";

/** Something that a policy does, or has done, to requests. */
export interface Mark {
  readonly what: MarkKind;
  readonly says: string;
  /** Absent where it was seen in what requests became. */
  readonly object?: string;
  readonly field?: string;
}

export interface GraphNode {
  /** `namespace/name`, the namespace alone, empty for callers without a proxy, or `elsewhere`. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** Of what comes to it. */
  readonly perSecond: number;
  readonly errors?: number;
  readonly marks: readonly Mark[];
}

export type MutualTls = "all" | "mixed" | "none" | "unknown";

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Requests; of TCP, connections. */
  readonly perSecond: number;
  readonly requests: number;
  /** Share of server errors; absent without answers. */
  readonly errors?: number;
  readonly denied: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly protocols: readonly string[];
  readonly mutualTls: MutualTls;
  readonly hosts: readonly string[];
  readonly marks: readonly Mark[];
}

export interface WorkloadDetail extends Seen {
  readonly id: string;
  readonly calls: readonly GraphEdge[];
  /** Empty where no Pod of it is known. */
  readonly policies: readonly Effect[];
  /** Those that it serves, as `namespace/host`. */
  readonly services: readonly string[];
  /** Proxies whose Pods are of it. */
  readonly proxies: readonly string[];
}

export interface TrafficSlot {
  readonly at: string;
  readonly perSecond: number;
  readonly errorsPerSecond: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** What has come of live requests since it was last asked. */
export interface LiveBatch {
  /** By which one asks for more. */
  readonly session: string;
  readonly requests: readonly LiveRequest[];
  /** How many more there were. */
  readonly leftOut: number;
  /** How many proxies are asked. */
  readonly proxies: number;
  readonly done: boolean;
}

export interface LiveRequest {
  readonly at: string;
  /** Whose proxy has told it. */
  readonly side: "source" | "destination";
  readonly source: LiveParty;
  readonly destination: LiveParty;
  readonly service: { readonly host: string };
  readonly protocol: string;
  readonly method: string;
  readonly authority: string;
  /** Without its query. */
  readonly path: string;
  /** 0 where there was no answer. */
  readonly status: number;
  readonly grpcStatus: string;
  readonly flags: string;
  readonly durationMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly mutualTls: boolean;
  readonly peerAddress: string;
  /** Those that were asked for, where they may be shown. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Empty where it is not known. */
export interface LiveParty {
  readonly namespace: string;
  readonly workload: string;
}

/** `namespace` draws only what touches that one; without it namespaces are drawn. */
export interface GraphQuestion extends Looked {
  readonly namespace: string;
}

export interface Looked {
  readonly lastMs: number;
  /** Workloads of other namespaces are one place without a name; absent: all are seen. */
  readonly sees?: (namespace: string) => boolean;
}

type Awaitable<T> = T | Promise<T>;

export interface MeshReads {
  graph(question: GraphQuestion): Awaitable<Graph>;
  workload(id: string, looked: Looked): Awaitable<WorkloadDetail | undefined>;
  /**
   * A question (`workload`, `path`, `status`, …) opens a session; `session` alone waits for what comes, and `end` with it
   * closes it. Throws what cannot or may not be asked.
   */
  liveRequests(query: URLSearchParams): Promise<LiveBatch>;
  /** Another text whenever answers may have become others. */
  moves(): string;
  /** Names of all that there are. */
  namespaces(): Awaitable<readonly string[]>;
  overview(): Awaitable<Overview>;
  proxies(): Awaitable<readonly ProxyRow[]>;
  proxy(id: string): Awaitable<ProxyDetail | undefined>;
  /** Names; who made them is asked of those that are shown. */
  resources(proxy: string, type: string): Awaitable<readonly string[] | undefined>;
  /** Of each of these names. */
  causes(proxy: string, type: string, names: readonly string[]): Awaitable<readonly (readonly Cause[])[]>;
  resource(proxy: string, type: string, name: string): Awaitable<ResourceDetail | undefined>;
  /** In all that it is sent, or in those of it that are seen. */
  search(
    proxy: string,
    words: string,
    isSeen?: (type: string, name: string) => Promise<boolean>,
  ): Awaitable<FoundLines | undefined>;
  services(): Awaitable<readonly ServiceRow[]>;
  service(id: string, looked: Looked): Awaitable<ServiceDetail | undefined>;
  namespaceRows(): Awaitable<readonly NamespaceRow[]>;
  namespace(name: string, looked: Looked): Awaitable<NamespaceDetail | undefined>;
  objects(): Awaitable<readonly ObjectRow[]>;
  object(id: string): Awaitable<ObjectDetail | undefined>;
  /** Newest first. */
  changes(): Awaitable<readonly Change[]>;
  change(id: number): Awaitable<ChangeDetail | undefined>;
  identities(): Awaitable<Identities>;
  /** What becomes of a request, by the configuration that the proxies have been sent; nothing is sent. */
  why(question: WhyQuestion): Promise<WhyAnswer | Mistake>;
  /** What a change would do to the proxies; nothing is written. */
  diff(question: DiffQuestion): Promise<DiffAnswer | Mistake>;
}

/** A list, as far as it is shown at once. */
export interface Listed<T> {
  readonly rows: readonly T[];
  /** Of all that the filter lets through. */
  readonly total: number;
  readonly page: number;
  readonly pages: number;
}
