/** A stream's state in, its responses on the wire out, as fast as slots and the reader allow. */
import type { Call, Payload, Send } from "../rpc/index.ts";
import type { AdsShared } from "./ads-shared.ts";
import type { StreamState } from "./stream-state.ts";
import { shortName } from "./type-info.ts";
import { encodeDelta, encodeSotw, payloadSize, type WireResponse } from "./wire.ts";

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
}

export function encodeResponse(shared: AdsShared, variant: "sotw" | "delta", response: WireResponse): Payload {
  return (variant === "sotw" ? encodeSotw : encodeDelta)(response, shared.options.identifier);
}

/** Sends what is to be sent, one response after the other, each made when its turn has come. */
export function createPusher(shared: AdsShared, options: PusherOptions): Pusher {
  const { limits, metrics } = shared;
  const { state } = options;
  const signal = options.call.signal;
  let timer: NodeJS.Timeout | undefined;
  let configured = false;
  let newsMs = 0;
  const kick = createPump(push, options.onError);

  async function push(): Promise<void> {
    await options.ready;
    while (state.pending()) {
      const queuedMs = performance.now();
      const release = await shared.slots.acquire({ urgent: !configured, signal });
      metrics.observe("pilot_proxy_queue_time", (performance.now() - queuedMs) / 1000);
      const slow = setTimeout(() => {
        metrics.count("pilot_xds_write_timeout");
        release();
      }, limits.slotMs);
      try {
        await pushOne();
      } finally {
        clearTimeout(slow);
        release();
      }
    }
    if (newsMs > 0) metrics.observe("pilot_proxy_convergence_time", (performance.now() - newsMs) / 1000);
    newsMs = 0;
    arm();
  }

  async function pushOne(): Promise<void> {
    const startMs = performance.now();
    const response = state.next(startMs);
    if (!response) return;
    const payload = encodeResponse(shared, options.variant, response);
    const label = { type: shortName(response.type).toLowerCase() };
    const sendMs = performance.now();
    await options.send(payload);
    configured = true;
    const endMs = performance.now();
    metrics.observe("pilot_xds_push_time", (endMs - startMs) / 1000, label);
    metrics.observe("pilot_xds_send_time", (endMs - sendMs) / 1000);
    metrics.observe("pilot_xds_config_size_bytes", payloadSize(payload), label);
    metrics.count("pilot_xds_pushes", label);
  }

  /** Looks again when a wait is over, as no request may come. */
  function arm(): void {
    clearTimeout(timer);
    const atMs = state.wakeAtMs();
    if (atMs === undefined || signal.aborted) return;
    const wake = (): void => {
      state.wake();
      kick();
    };
    timer = setTimeout(wake, Math.max(1, Math.ceil(atMs - performance.now())));
  }

  return {
    kick,
    news() {
      newsMs ||= performance.now();
      kick();
    },
    stop: () => clearTimeout(timer),
  };
}

/** Runs one push at a time; what comes meanwhile is one more run, never a queue. */
function createPump(run: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let running = false;
  let again = false;
  const pump = (): void => {
    again = true;
    if (running) return;
    running = true;
    void loop();
  };
  async function loop(): Promise<void> {
    try {
      while (again) {
        again = false;
        await run();
      }
    } catch (error) {
      onError(error);
    } finally {
      running = false;
    }
  }
  return pump;
}
