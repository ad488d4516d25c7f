/**
 * Envoy's ADS streams on a unix socket in, the same streams to the control plane out, byte for byte. When the control
 * plane goes, Envoy's stream ends with UNAVAILABLE; Envoy keeps its configuration and comes back by its own backoff.
 */
import { FairleadError, type Logger } from "../lib/index.ts";
import {
  bidi,
  type Call,
  type Method,
  type Payload,
  type Route,
  type RpcClient,
  RpcError,
  rawCodec,
  type Send,
  status,
} from "../rpc/index.ts";

export interface XdsRelayOptions {
  readonly client: RpcClient;
  readonly log: Logger;
  /** Called when a stream is through to the control plane, and when it is lost. */
  readonly onConnected?: (connected: boolean) => void;
}

const service = "/envoy.service.discovery.v3.AggregatedDiscoveryService";
const methods: readonly Method<Payload, Payload>[] = ["StreamAggregatedResources", "DeltaAggregatedResources"].map(
  (name) => ({
    path: `${service}/${name}`,
    request: rawCodec,
    response: rawCodec,
  }),
);

export function createXdsRelay(options: XdsRelayOptions): readonly Route[] {
  return methods.map((method) => bidi(method, (requests, call, send) => relay(method, requests, call, send, options)));
}

async function relay(
  method: Method<Payload, Payload>,
  requests: AsyncGenerator<Payload>,
  call: Call,
  send: Send<Payload>,
  options: XdsRelayOptions,
): Promise<void> {
  const { log, onConnected } = options;
  const ended = new AbortController();
  const signal = AbortSignal.any([call.signal, ended.signal]);
  try {
    const upstream = await options.client.stream(method, { signal });
    const up = forward(requests, upstream.send).then(upstream.end);
    // Its failure shows in the answers as well, which are what is awaited.
    up.catch(() => {});
    let first = true;
    for await (const message of upstream.messages) {
      if (first) onConnected?.(true);
      first = false;
      await send(message);
    }
    throw new RpcError(status.unavailable, "the control plane ended the stream");
  } catch (error) {
    if (call.signal.aborted) return;
    onConnected?.(false);
    const cause = FairleadError.from(error).message;
    log.warn("xDS stream to the control plane is closed; Envoy keeps its configuration and tries again", { cause });
    throw error instanceof RpcError
      ? error
      : new RpcError(status.unavailable, "the control plane cannot be reached", { cause: error });
  } finally {
    ended.abort();
  }
}

async function forward(requests: AsyncGenerator<Payload>, send: Send<Payload>): Promise<void> {
  for await (const request of requests) await send(request);
}
