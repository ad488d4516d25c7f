/**
 * Envoy's ADS streams on a unix socket in, the same streams to the control plane out, byte for byte. When the control
 * plane goes, Envoy's stream ends with UNAVAILABLE, and Envoy, which keeps its configuration, opens another; that one is
 * held until the control plane is back.
 * What the agent itself wants to know goes over the same stream: its requests are put in between, and answers of its
 * types do not reach Envoy. Responses that are rewritten may take their time; those of other types pass them.
 */
import { createBackoff, FairleadError, type Logger, wait } from "../lib/index.ts";
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
import { type HeldRequests, holdRequests } from "./held-requests.ts";
import type { OwnSubscription } from "./own-subscription.ts";
import { onStateOfTheWorld } from "./sotw-subscription.ts";
import { WireReader } from "./telemetry/wire.ts";
import { createWantedNames } from "./wanted-names.ts";
import type { ResponseRewriter, StreamEnd } from "./wasm/ecds.ts";

export interface XdsRelayOptions {
  readonly client: RpcClient;
  readonly log: Logger;
  readonly random?: () => number;
  /** Told the first request of each stream, which says who asks and what it can do. */
  readonly onFirst?: (request: Payload) => void;
  /** What the agent asks for itself. */
  readonly own?: readonly OwnSubscription[];
  /** What does not reach Envoy as it was sent. */
  readonly rewriter?: ResponseRewriter;
}

const method = (name: string): Method<Payload, Payload> => ({
  path: `/envoy.service.discovery.v3.AggregatedDiscoveryService/${name}`,
  request: rawCodec,
  response: rawCodec,
});
const sotw = method("StreamAggregatedResources");
const delta = method("DeltaAggregatedResources");

export function createXdsRelay(options: XdsRelayOptions): readonly Route[] {
  const { own = [] } = options;
  const whole = own.filter(({ isWhole }) => isWhole);
  return [
    bidi(sotw, (requests, call, send) => relay(sotw, requests, call, send, { ...options, own: whole })),
    bidi(delta, (requests, call, send) => relay(delta, requests, call, send, options)),
  ];
}

/**
 * A control plane that is away is waited for here, with what Envoy has asked so far: Envoy, told of each failure, would
 * come back ever later. One that is lost after it has answered ends Envoy's stream, because only Envoy knows what it has.
 */
async function relay(
  method: Method<Payload, Payload>,
  requests: AsyncGenerator<Payload>,
  call: Call,
  send: Send<Payload>,
  options: XdsRelayOptions,
): Promise<void> {
  const { log } = options;
  const held = holdRequests(tellFirst(requests, options.onFirst));
  const outage = createOutage(options.random ?? Math.random);
  let lastCause: string | undefined;
  for (;;) {
    const { error, answered } = await attempt(method, held, call, send, options);
    if (call.signal.aborted) return;
    const cause = FairleadError.from(error).message;
    // One that is away may come back as somebody else.
    if (cause !== lastCause)
      log.warn("xDS stream to the control plane is closed; Envoy keeps its configuration", { cause });
    lastCause = cause;
    if (answered || !(isAway(error) || isBusy(error)) || !held.canRepeat()) throw told(error);
    await wait(isBusy(error) ? outage.laterMs() : outage.nextMs(), call.signal).catch(() => {});
  }
}

async function* tellFirst(
  requests: AsyncGenerator<Payload>,
  onFirst: XdsRelayOptions["onFirst"],
): AsyncGenerator<Payload> {
  let told = false;
  for await (const request of requests) {
    if (!told) onFirst?.(request);
    told = true;
    yield request;
  }
}

interface Outage {
  nextMs(): number;
  /** For one that said that it has too much to do: many agents that come back soon would keep it so. */
  laterMs(): number;
}

/** While it is short, often: a control plane that was started again is back in a second. Then seldom. */
function createOutage(random: () => number): Outage {
  const [soon, late] = [1_000, 10_000].map((maxMs) => createBackoff({ minMs: 100, maxMs, random }));
  const busy = createBackoff({ minMs: 2_000, maxMs: 30_000, random });
  let attempts = 0;
  return {
    nextMs: () => (attempts++ < 30 ? soon : late)?.nextMs() ?? 0,
    laterMs() {
      attempts++;
      return busy.nextMs();
    },
  };
}

const isAway = (error: unknown): boolean => !(error instanceof RpcError) || error.status === status.unavailable;

const isBusy = (error: unknown): boolean => error instanceof RpcError && error.status === status.resourceExhausted;

function told(error: unknown): RpcError {
  return error instanceof RpcError
    ? error
    : new RpcError(status.unavailable, "the control plane cannot be reached", { cause: error });
}

/** One stream to the control plane, until it ends: how, and whether anything had come. */
async function attempt(
  method: Method<Payload, Payload>,
  held: HeldRequests,
  call: Call,
  send: Send<Payload>,
  options: XdsRelayOptions,
): Promise<{ readonly error: unknown; readonly answered: boolean }> {
  const own = method === sotw ? (options.own ?? []).map(onStateOfTheWorld) : (options.own ?? []);
  const ended = new AbortController();
  const signal = AbortSignal.any([call.signal, ended.signal]);
  let [detach, answered, recovered] = [(): void => {}, false, false];
  const forward = inOrder(send);
  const rewriting = createRewriting(method, options.rewriter, forward, {
    signal,
    onRecovered() {
      recovered = true;
      ended.abort();
    },
  });
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
    const pass: Send<Payload> = (request) => {
      rewriting?.asked(request);
      return upstream.send(request);
    };
    held
      .sendTo(pass, attach, signal)
      .then(upstream.end)
      .catch(() => {});
    for await (const message of upstream.messages) {
      answered = true;
      held.release();
      const [bytes] = message;
      const type = bytes && (own.length > 0 || rewriting) ? responseType(bytes) : "";
      const receiver = own.find((one) => one.typeUrl === type);
      if (receiver && bytes) answerOwn(receiver, bytes, sendOwn);
      else if (bytes && rewriting?.typeUrl === type) rewriting.take(bytes);
      else await forward(message);
    }
    return { error: new RpcError(status.unavailable, "the control plane ended the stream"), answered };
  } catch (error) {
    // Envoy asks again, and is told of what has come since.
    const again = new RpcError(status.unavailable, "a Wasm module has come");
    return { error: recovered ? again : error, answered };
  } finally {
    detach();
    ended.abort();
  }
}

/** One message after the other, whoever sends them. */
function inOrder(send: Send<Payload>): Send<Payload> {
  let last: Promise<unknown> = Promise.resolve();
  return (message) => {
    const sent = last.then(() => send(message));
    last = sent.catch(() => {});
    return sent;
  };
}

interface Rewriting {
  readonly typeUrl: string;
  asked(request: Payload): void;
  take(response: Uint8Array): void;
}

/** Responses of the type stay in their order. A stream that cannot be written to ends by itself. */
function createRewriting(
  of: Method<Payload, Payload>,
  rewriter: ResponseRewriter | undefined,
  send: Send<Payload>,
  stream: StreamEnd,
): Rewriting | undefined {
  if (!rewriter) return undefined;
  const variant = of === sotw ? "sotw" : "delta";
  const wantedNames = createWantedNames(variant, rewriter.typeUrl);
  let last: Promise<unknown> = Promise.resolve();
  return {
    typeUrl: rewriter.typeUrl,
    asked([request]) {
      const names = request && rewriter.asked && wantedNames(request);
      if (names) rewriter.asked?.(names);
    },
    take(response) {
      last = last
        // What cannot be read is Envoy's to refuse.
        .then(() => rewriter.rewrite(variant, response, stream).catch(() => response))
        .then((bytes) => (stream.signal.aborted ? undefined : send([bytes])))
        .catch(() => {});
    },
  };
}

function answerOwn(own: OwnSubscription, response: Uint8Array, send: (request: Uint8Array) => void): void {
  const answer = own.receive(response);
  if (answer) send(answer);
}

const typeUrlField = 4;

/** Of a response of either variant, without decoding what it carries. */
function responseType(response: Uint8Array): string {
  const reader = new WireReader(response);
  for (let field = reader.next(); field !== 0; field = reader.next()) if (field === typeUrlField) return reader.text();
  return "";
}
