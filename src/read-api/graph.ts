/** Who talks with whom, as it is drawn. */
import type { Awaitable } from "./awaitable.ts";
import type { MutualTls } from "./edges.ts";
import type { Mark } from "./effects.ts";

export interface GraphReads {
  graph(question: GraphQuestion): Awaitable<Graph>;
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

/** Stands for all workloads of namespaces that whoever looks may not see. No namespace can have this name. */
export const elsewhere = "(elsewhere)";

/** What is seen of requests to or from a place. */
export interface Seen {
  readonly callers: readonly GraphEdge[];
  /** Of what came to it, oldest first. */
  readonly series: readonly TrafficSlot[];
}

export interface TrafficSlot {
  readonly at: string;
  readonly perSecond: number;
  readonly errorsPerSecond: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}
