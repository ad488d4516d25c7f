/** One workload: what it serves, calls, and is bound by. */
import type { Awaitable } from "./awaitable.ts";
import type { Effect } from "./effects.ts";
import type { GraphEdge, Looked, Seen } from "./graph.ts";

export interface WorkloadReads {
  workload(id: string, looked: Looked): Awaitable<WorkloadDetail | undefined>;
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
