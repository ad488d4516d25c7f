/** Single requests, as proxies tell them. */
import type { EdgeName, Side } from "./edges.ts";

export interface LiveRequestReads {
  /**
   * A question (`workload`, `path`, `status`, …) opens a session; `session` alone waits for what comes, and `end` with it
   * closes it. Throws what cannot or may not be asked.
   */
  liveRequests(query: URLSearchParams): Promise<TapAnswer>;
}

/** What has come of live requests since it was last asked. */
export interface TapBatch {
  readonly requests: readonly LiveRequest[];
  /** How many more there were. */
  readonly leftOut: number;
  /** How many proxies are asked. */
  readonly proxies: number;
  readonly done: boolean;
}

export interface TapAnswer extends TapBatch {
  /** By which one asks for more. */
  readonly session: string;
}

export interface LiveRequest extends EdgeName {
  /** When it began, by the control plane's clock; it is told when it has ended. */
  readonly at: string;
  /** Whose proxy has told it. */
  readonly side: Side;
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
