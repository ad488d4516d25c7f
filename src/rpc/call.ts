/** One HTTP/2 stream of the server in, a call with its messages, its way back and its end out. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { constants } from "node:http2";
import type { Inflow, Watchdog } from "../lib/index.ts";
import { eachMessage, type Take } from "./each-message.ts";
import { readMessages } from "./frame.ts";
import type { Payload } from "./method.ts";
import type { Peer } from "./peer.ts";
import { encodeMessage, RpcError, type Status, status } from "./status.ts";
import { parseTimeout } from "./timeout.ts";
import { createWriter, type Written } from "./write.ts";

/** What a handler knows of its caller. */
export interface Call {
  readonly path: string;
  /** A request header, by its lower-case name; the last where repeated. */
  metadata(name: string): string | undefined;
  readonly peer: Peer;
  /** Aborted when the client goes, the deadline passes or the server stops; the reason is an RpcError. */
  readonly signal: AbortSignal;
  /** How often the reader has taken all that waited for it. While a message is sent and it stays the same, nothing is read. */
  readonly drains: () => number;
}

/** A call before its messages have types. */
export interface WireCall extends Call {
  readonly messages: () => AsyncGenerator<Uint8Array>;
  /**
   * Instead of `messages`, for calls that live long or come often: no promise where the taker needs none. `untilEnd`: one
   * message is all there is, so that its end must come as soon as it.
   */
  readonly each: (take: Take<Uint8Array>, options?: { readonly untilEnd: boolean }) => Promise<void>;
  /** Says when the transport has taken the message, so that a sender goes at the pace of its reader. */
  readonly send: (payload: Payload) => Written;
  /** Ends the call; the first end counts. */
  readonly finish: (code: Status, message?: string) => void;
  readonly abort: (reason: RpcError) => void;
}

/** Every call ends, mostly with nobody to read why: an error of its own would cost more than the rest of its end. */
const clientGone = new RpcError(status.cancelled, "the client has gone");
export const callOver = new RpcError(status.cancelled, "the call has ended");

/** How long a reader that takes nothing may keep its stream after the call's end. */
const lingerMs = 5000;

const baseHeaders = {
  ":status": 200,
  "content-type": "application/grpc",
  "grpc-accept-encoding": "identity,gzip",
} as const;

export function createCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  peer: Peer,
  options: {
    readonly maxMessageBytes: number;
    readonly stallMs: number;
    readonly watchdog?: Watchdog | undefined;
    readonly inflow?: Inflow;
    /** Shared by all calls of a server. */
    readonly framed: (payload: Payload) => Iterable<Uint8Array>;
  },
): WireCall {
  const controller = new AbortController();
  const abort = (reason: RpcError): void => {
    clearTimeout(deadline);
    if (controller.signal.aborted) return;
    controller.abort(reason);
    giveUp(reason);
  };
  const finish = createFinish(stream);
  const timeoutMs = parseTimeout(header(headers, "grpc-timeout"));
  const deadline = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
  function expire(): void {
    const reason = new RpcError(status.deadlineExceeded, "the deadline has passed");
    finish(reason.status, reason.message);
    abort(reason);
  }
  stream.once("close", () => abort(clientGone));
  const reading = {
    signal: controller.signal,
    maxBytes: options.maxMessageBytes,
    encoding: header(headers, "grpc-encoding"),
    stallMs: options.stallMs,
    client: peer.client ?? peer.address,
    ...(options.inflow ? { inflow: options.inflow } : {}),
  };
  const { write, drains, giveUp } = createWriter({
    stream,
    check() {
      controller.signal.throwIfAborted();
      if (stream.writableEnded || stream.destroyed) throw callOver;
      if (!stream.headersSent) stream.respond(baseHeaders, { waitForTrailers: true });
    },
  });
  const path = header(headers, ":path") ?? "";
  const who = (): string => `${path} of ${peer.address}`;
  const begin = (): void => options.watchdog?.begin(who);
  return {
    path,
    metadata: (name) => header(headers, name),
    peer,
    signal: controller.signal,
    drains,
    async *messages() {
      for await (const message of readMessages(stream.iterator({ destroyOnReturn: false }), reading)) {
        begin();
        yield message;
      }
    },
    each(take, { untilEnd } = { untilEnd: false }) {
      const read = eachMessage(stream, { ...reading, untilEnd }, (message) => {
        begin();
        return take(message);
      });
      // Who waits for the end works now.
      return untilEnd ? read.then(begin) : read;
    },
    send: (payload) => write(options.framed(payload)),
    finish,
    abort,
  };
}

function createFinish(stream: ServerHttp2Stream): (code: Status, message?: string) => void {
  let done = false;
  return (code, message = "") => {
    if (done || stream.destroyed || stream.closed) return;
    done = true;
    const trailers = {
      "grpc-status": String(code),
      ...(message === "" ? {} : { "grpc-message": encodeMessage(message) }),
    };
    if (stream.headersSent) {
      stream.once("wantTrailers", () => {
        stream.sendTrailers(trailers);
        release(stream);
      });
      stream.end();
    } else {
      stream.respond({ ...baseHeaders, ...trailers }, { endStream: true });
      release(stream);
    }
    const linger = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), lingerMs);
    linger.unref();
    stream.once("close", () => clearTimeout(linger));
  };
}

/** A client that has not half-closed would keep the stream open after its trailers: NO_ERROR says that no more is read. */
function release(stream: ServerHttp2Stream): void {
  stream.resume();
  setImmediate(() => {
    if (!stream.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.at(-1) : value;
}
