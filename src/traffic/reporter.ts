/** One stream of an agent: who it is, how often it may report, and which edges it may tell apart. */
import type { RpcError } from "../rpc/index.ts";
import type { Party } from "./edge.ts";

export interface ReporterOptions {
  /** Who and where; two streams of the same are one reporter. */
  readonly key: string;
  /** That, and which run of the agent. */
  readonly run: string;
  readonly own: () => Party;
  readonly end: (reason: RpcError) => void;
  readonly monotonicMs: () => number;
}

/** A workload has fewer peers, or should see them by namespace. */
const maxEdges = 256;
/** After so long, peers that have gone make room for others. */
const forgetMs = 3_600_000;
/** Reports at once, and then each second; an agent has one in ten. */
const [burst, perSecond] = [10, 1];

export class Reporter {
  readonly key: string;
  readonly run: string;
  readonly own: () => Party;
  readonly end: (reason: RpcError) => void;
  readonly #monotonicMs: () => number;
  readonly #edges = new Set<string>();
  #forgotMs: number;
  #level = burst;
  #levelAtMs: number;

  constructor({ key, run, own, end, monotonicMs }: ReporterOptions) {
    this.key = key;
    this.run = run;
    this.own = own;
    this.end = end;
    this.#monotonicMs = monotonicMs;
    this.#forgotMs = monotonicMs();
    this.#levelAtMs = this.#forgotMs;
  }

  /** False from the edge on that is one too many. */
  tellsApart(edge: string): boolean {
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#forgotMs > forgetMs) {
      this.#edges.clear();
      this.#forgotMs = nowMs;
    }
    if (this.#edges.has(edge)) return true;
    if (this.#edges.size >= maxEdges) return false;
    this.#edges.add(edge);
    return true;
  }

  mayReport(): boolean {
    const nowMs = this.#monotonicMs();
    this.#level = Math.min(burst, this.#level + ((nowMs - this.#levelAtMs) / 1000) * perSecond);
    this.#levelAtMs = nowMs;
    if (this.#level < 1) return false;
    this.#level--;
    return true;
  }
}
