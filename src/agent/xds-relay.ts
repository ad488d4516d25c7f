/**
 * Envoy's ADS streams on a unix socket in, the same streams to the control plane out, byte for byte. When the control
 * plane goes, Envoy's stream ends with UNAVAILABLE; Envoy keeps its configuration and comes back by its own backoff.
 * What the agent itself wants to know goes over the same stream: its requests are put in between, and answers of its
 * types do not reach Envoy.
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
import { WireReader } from "./telemetry/wire.ts";

export interface XdsRelayOptions {
  readonly client: RpcClient;
  readonly log: Logger;
  /** Called when a stream is through to the control plane, and when it is lost. */
  readonly onConnected?: (connected: boolean) => void;
  /** What the agent asks for itself, on incremental streams. */
  readonly own?: readonly OwnSubscription[];
}

/** Requests and responses of incremental xDS, encoded. */
export interface OwnSubscription {
  readonly typeUrl: string;
  /** A stream is there: `send` takes requests until what is returned has been called. */
  attach(send: (request: Uint8Array) => void): () => void;
  /** A response of the type; the answer to it is returned, or nothing where it cannot be read. */
  receive(response: Uint8Array): Uint8Array | undefined;
}

const method = (name: string): Method<Payload, Payload> => ({
  path: `/envoy.service.discovery.v3.AggregatedDiscoveryService/${name}`,
  request: rawCodec,
  response: rawCodec,
});
const sotw = method("StreamAggregatedResources");
const delta = method("DeltaAggregatedResources");

export function createXdsRelay(options: XdsRelayOptions): readonly Route[] {
  const { own: _, ...plain } = options;
  return [
    bidi(sotw, (requests, call, send) => relay(sotw, requests, call, send, plain)),
    bidi(delta, (requests, call, send) => relay(delta, requests, call, send, options)),
  ];
}

async function relay(
  method: Method<Payload, Payload>,
  requests: AsyncGenerator<Payload>,
  call: Call,
  send: Send<Payload>,
  options: XdsRelayOptions,
): Promise<void> {
  const { log, onConnected, own = [] } = options;
  let detach = (): void => {};
  const ended = new AbortController();
  const signal = AbortSignal.any([call.signal, ended.signal]);
  try {
    const upstream = await options.client.stream(method, { signal });
    // A failure shows in the answers as well, which are what is awaited.
    const sendOwn = (request: Uint8Array): void => void upstream.send([request]).catch(() => {});
    const attach = (): void => {
      const detachers = own.map((one) => one.attach(sendOwn));
      detach = () => {
        for (const one of detachers) one();
      };
    };
    forward(requests, upstream.send, attach)
      .then(upstream.end)
      .catch(() => {});
    let first = true;
    for await (const message of upstream.messages) {
      if (first) onConnected?.(true);
      first = false;
      const [bytes] = message;
      const type = bytes && own.length > 0 ? responseType(bytes) : "";
      const receiver = own.find((one) => one.typeUrl === type);
      if (receiver && bytes) answerOwn(receiver, bytes, sendOwn);
      else await send(message);
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
    detach();
    ended.abort();
  }
}

function answerOwn(own: OwnSubscription, response: Uint8Array, send: (request: Uint8Array) => void): void {
  const answer = own.receive(response);
  if (answer) send(answer);
}

/** Envoy's first request says who asks; nothing may come before it. */
async function forward(requests: AsyncGenerator<Payload>, send: Send<Payload>, afterFirst: () => void): Promise<void> {
  let isFirst = true;
  for await (const request of requests) {
    await send(request);
    if (isFirst) afterFirst();
    isFirst = false;
  }
}

const typeUrlField = 4;

/** Of a DeltaDiscoveryResponse, without decoding what it carries. */
function responseType(response: Uint8Array): string {
  const reader = new WireReader(response);
  for (let field = reader.next(); field !== 0; field = reader.next()) if (field === typeUrlField) return reader.text();
  return "";
}
