/** One stream of an agent: who it is, how often it may report, and which edges it may tell apart. */
import type { Tap } from "../gen/fairlead/traffic_pb.js";
import type { RpcError } from "../rpc/index.ts";
import { type Bucket, createBucket } from "./bucket.ts";
import type { Party } from "./edge.ts";
import type { TapAgent } from "./tap.ts";

export interface ReporterOptions {
  /** Who and where; two streams of the same are one reporter. */
  readonly key: string;
  /** That, and which run of the agent. */
  readonly run: string;
  /** Who it is, by what is known now; throws where somebody else is there. */
  readonly look: () => Party;
  readonly order: (tap: Tap) => void;
  readonly end: (reason: RpcError) => void;
  readonly monotonicMs: () => number;
}

/** A workload has fewer peers, or should see them by namespace. */
const maxEdges = 256;
/** After so long, peers that have gone make room for others. */
const forgetMs = 3_600_000;

export class Reporter implements TapAgent {
  readonly key: string;
  readonly run: string;
  readonly order: (tap: Tap) => void;
  readonly end: (reason: RpcError) => void;
  readonly #monotonicMs: () => number;
  readonly #edges = new Set<string>();
  /** An agent has a report in ten seconds, and while somebody looks four batches of requests in one. */
  readonly #reports: Bucket;
  readonly #tapped: Bucket;
  readonly #look: () => Party;
  /** As it was when it last reported. */
  party: Party;
  #forgotMs: number;

  constructor({ key, run, look, order, end, monotonicMs }: ReporterOptions) {
    this.key = key;
    this.run = run;
    this.#look = look;
    this.party = look();
    this.order = order;
    this.end = end;
    this.#monotonicMs = monotonicMs;
    this.#forgotMs = monotonicMs();
    this.#reports = createBucket(10, 1, monotonicMs);
    this.#tapped = createBucket(40, 20, monotonicMs);
  }

  look(): Party {
    this.party = this.#look();
    return this.party;
  }

  mayReport(): boolean {
    return this.#reports.take();
  }

  mayTell(): boolean {
    return this.#tapped.take();
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
}
