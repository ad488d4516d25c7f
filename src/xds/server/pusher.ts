/** A stream's state in, its responses on the wire out, one after the other, each made when its turn has come. */
import type { Call, Payload, Send } from "../../rpc/index.ts";
import type { Response, StreamState } from "../stream/stream-state.ts";
import { metricLabel, virtualHostType, type WireType } from "../type-info.ts";
import type { AdsShared } from "./ads-shared.ts";
import type { Writing } from "./turns.ts";
import { payloadSize } from "./wire.ts";

export interface Pusher {
  /** There may be something to send. */
  kick(): void;
  /** The source has news: from here the time to convergence runs. */
  news(): void;
  stop(): void;
}

export interface PusherOptions {
  readonly state: StreamState;
  /** Nothing is planned before. */
  readonly ready: Promise<void> | undefined;
  readonly variant: "sotw" | "delta";
  readonly call: Call;
  readonly send: Send<Payload>;
  readonly onError: (error: unknown) => void;
  /** Told of each response that the transport has taken. */
  readonly onSent?: (response: Response, bytes: number) => void;
}

/** What comes while a response is written, or waits for its turn, is one more look at the state, never a queue. */
export function createPusher(shared: Pick<AdsShared, "metrics" | "turns" | "encode">, options: PusherOptions): Pusher {
  const { metrics } = shared;
  const { state } = options;
  let timer: NodeJS.Timeout | undefined;
  let busy = false;
  let stopped = false;
  let configured = false;
  let newsMs = 0;
  let queuedMs = 0;
  let isReady = options.ready === undefined;
  options.ready?.then(() => {
    isReady = true;
    kick();
  }, options.onError);

  function kick(nowMs = performance.now()): void {
    if (busy || stopped || !isReady || !state.pending()) return;
    busy = true;
    queuedMs = nowMs;
    shared.turns.take(turn, { urgent: !configured });
  }

  function turn(startMs: number): Writing | undefined {
    if (stopped) return undefined;
    try {
      const done = push(startMs);
      return done && { done, drains: options.call.drains };
    } catch (error) {
      options.onError(error);
      return undefined;
    }
  }

  function push(startMs: number): Promise<void> | undefined {
    metrics.observe("pilot_proxy_queue_time", (startMs - queuedMs) / 1000);
    const first = state.next(startMs);
    if (!first) return rest();
    let written = write(first, startMs);
    // A route configuration without its hosts answers wrongly: both leave in one turn.
    while (state.continues()) {
      const part = state.next(startMs);
      if (part) written = both(written, write(part, startMs));
    }
    return written ? written.then(sent, options.onError) : sent();
  }

  /** Undefined where the transport has taken all at once, as it does with what is small. */
  function write(response: Response, startMs: number): Promise<void> | undefined {
    const type = response.isOfHosts ? virtualHostType : response.type;
    const payload = shared.encode(options.variant, response, type);
    const sendMs = performance.now();
    const sending = options.send(payload);
    const taken = (): void => noteTaken(response, type, payloadSize(payload), startMs, sendMs);
    if (sending) return sending.then(taken);
    taken();
    return undefined;
  }

  function noteTaken(response: Response, type: WireType, bytes: number, startMs: number, sendMs: number): void {
    const label = metricLabel(type);
    const endMs = performance.now();
    metrics.observe("pilot_xds_push_time", (endMs - startMs) / 1000, label);
    metrics.observe("pilot_xds_send_time", (endMs - sendMs) / 1000);
    metrics.observe("pilot_xds_config_size_bytes", bytes, label);
    metrics.count("pilot_xds_pushes", label);
    options.onSent?.(response, bytes);
  }

  function sent(): undefined {
    configured = true;
    return rest();
  }

  function rest(): undefined {
    busy = false;
    if (state.pending()) {
      kick();
      return;
    }
    if (newsMs > 0) metrics.observe("pilot_proxy_convergence_time", (performance.now() - newsMs) / 1000);
    newsMs = 0;
    arm();
  }

  /** Looks again when a wait is over, as no request may come. */
  function arm(): void {
    clearTimeout(timer);
    const atMs = stopped ? undefined : state.wakeAtMs();
    if (atMs === undefined) return;
    const wake = (): void => {
      state.wake();
      kick();
    };
    timer = setTimeout(wake, Math.max(1, Math.ceil(atMs - performance.now())));
  }

  return {
    kick,
    news() {
      // What the stream does not ask for is never sent, and not waited for.
      if (!busy && !state.pending()) return;
      const nowMs = performance.now();
      newsMs ||= nowMs;
      kick(nowMs);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

async function bothWritten(one: Promise<void>, other: Promise<void>): Promise<void> {
  await Promise.all([one, other]);
}

const both = (one: Promise<void> | undefined, other: Promise<void> | undefined): Promise<void> | undefined =>
  one && other ? bothWritten(one, other) : (one ?? other);
