/** One stream of an agent: who it is, and how often it may tell of single requests. */
import type { Tap } from "../gen/fairlead/traffic_pb.js";
import { type Bucket, createBucket } from "../lib/index.ts";
import type { Party } from "../read-api/index.ts";
import type { RpcError } from "../rpc/index.ts";
import type { TapAgent } from "./tap.ts";

export interface ReporterOptions {
  /** Who and where; two streams of the same are one reporter. */
  readonly key: string;
  /** Who alone. */
  readonly account: string;
  /** That, and which run of the agent. */
  readonly run: string;
  /** Who it is, by what is known now; throws where somebody else is there. */
  readonly look: () => Party;
  readonly order: (tap: Tap) => void;
  readonly end: (reason: RpcError) => void;
  readonly monotonicMs: () => number;
}

export class Reporter implements TapAgent {
  readonly key: string;
  readonly account: string;
  readonly run: string;
  readonly order: (tap: Tap) => void;
  readonly end: (reason: RpcError) => void;
  /** While somebody looks, an agent has four batches of requests in a second. */
  readonly #tapped: Bucket;
  readonly #look: () => Party;
  /** As it was when it last reported. */
  party: Party;

  constructor({ key, account, run, look, order, end, monotonicMs }: ReporterOptions) {
    this.key = key;
    this.account = account;
    this.run = run;
    this.#look = look;
    this.party = look();
    this.order = order;
    this.end = end;
    this.#tapped = createBucket(40, 20, monotonicMs);
  }

  look(): Party {
    this.party = this.#look();
    return this.party;
  }

  mayTell(): boolean {
    return this.#tapped.take();
  }
}
