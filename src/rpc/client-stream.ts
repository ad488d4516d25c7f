/** One call of the client: messages out, messages in, and the status at its end as an RpcError. */
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { messageChunks, readMessages } from "./frame.ts";
import type { Method } from "./method.ts";
import { whyNotTrusted } from "./server-trust.ts";
import { decodeMessage, parseStatus, RpcError, type Status, status } from "./status.ts";
import { formatTimeout } from "./timeout.ts";
import { createWriter } from "./write.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface ClientStream<I, O> {
  /** Resolves when the transport has taken the message. */
  send(message: I): Promise<void>;
  /** No more messages of ours. */
  end(): void;
  /** Ends when the server ends with OK; throws an RpcError otherwise. */
  readonly messages: AsyncGenerator<O>;
  cancel(): void;
}

interface OpenOptions extends CallOptions {
  /** Who is called, for messages. */
  readonly server: string;
  readonly maxMessageBytes: number;
}

export function openStream<I, O>(
  session: ClientHttp2Session,
  method: Method<I, O>,
  options: OpenOptions,
): ClientStream<I, O> {
  const stream = session.request({
    ":method": "POST",
    ":path": method.path,
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-accept-encoding": "identity,gzip",
    "user-agent": "fairlead",
    ...(options.timeoutMs === undefined ? {} : { "grpc-timeout": formatTimeout(options.timeoutMs) }),
    ...options.metadata,
  });
  const gone = new AbortController();
  const { write, giveUp } = createWriter({
    stream,
    check() {
      if (gone.signal.aborted || stream.destroyed || stream.writableEnded)
        throw new RpcError(status.unavailable, "the stream has closed");
    },
  });
  const stop = (reason: RpcError): void => {
    if (!gone.signal.aborted) gone.abort(reason);
    giveUp(reason);
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  };
  const end = watchEnd(stream, options.server);
  bindLife(stream, options, stop);
  return {
    async send(message) {
      await write(messageChunks(method.request.encode(message)));
    },
    end: () => stream.end(),
    messages: receive(stream, method, options.maxMessageBytes, end, gone.signal),
    cancel: () => stop(new RpcError(status.cancelled, "the call was cancelled")),
  };
}

/** Deadline and cancellation close the stream; whatever closes it stops the timer. */
function bindLife(stream: ClientHttp2Stream, options: OpenOptions, stop: (reason: RpcError) => void): void {
  const cancelled = (): void => stop(new RpcError(status.cancelled, "the call was cancelled"));
  const late = (): void => stop(new RpcError(status.deadlineExceeded, "the deadline has passed"));
  const timer = options.timeoutMs === undefined ? undefined : setTimeout(late, options.timeoutMs);
  options.signal?.addEventListener("abort", cancelled, { once: true });
  stream.once("close", () => {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", cancelled);
  });
  if (options.signal?.aborted) cancelled();
}

interface End {
  readonly encoding: () => string | undefined;
  /** What failed, made when asked: most calls end well. */
  readonly outcome: Promise<() => RpcError | undefined>;
}

/** What the server says at the end: in trailers, or in the headers of an answer without messages. */
function watchEnd(stream: ClientHttp2Stream, server: string): End {
  let headers: IncomingHttpHeaders = {};
  let failure: Error | undefined;
  stream.on("error", (error) => {
    failure = error;
  });
  const outcome = new Promise<() => RpcError | undefined>((resolve) => {
    stream.once("response", (received) => {
      headers = received;
      if (received["grpc-status"] !== undefined || received[":status"] !== 200) resolve(() => fromHeaders(received));
    });
    stream.once("trailers", (trailers) => resolve(() => fromHeaders(trailers)));
    stream.once("close", () => resolve(() => lost(stream, failure, server)));
  });
  return { encoding: () => text(headers["grpc-encoding"]), outcome };
}

function fromHeaders(headers: IncomingHttpHeaders): RpcError | undefined {
  const code = headers["grpc-status"];
  if (code === undefined)
    return new RpcError(
      httpStatus(headers[":status"]),
      `the server answered HTTP ${headers[":status"] ?? "without a status"}`,
    );
  const parsed = parseStatus(text(code));
  return parsed === status.ok ? undefined : new RpcError(parsed, decodeMessage(text(headers["grpc-message"]) ?? ""));
}

function httpStatus(header: string | string[] | number | undefined): Status {
  const code = Number(header);
  if (code === 401) return status.unauthenticated;
  if (code === 403) return status.permissionDenied;
  if (code === 404) return status.unimplemented;
  return code === 429 || code === 502 || code === 503 || code === 504 ? status.unavailable : status.unknown;
}

function lost(stream: ClientHttp2Stream, failed: Error | undefined, server: string): RpcError {
  // A stream that waits for its connection is told of the failure of that as a cause.
  const failure = failed?.cause instanceof Error ? failed.cause : failed;
  const stranger = whyNotTrusted(failure);
  if (stranger !== undefined)
    return new RpcError(status.unavailable, `${server} is not trusted, and was sent nothing: ${stranger}`, {
      cause: failure,
    });
  const refused = stream.rstCode === constants.NGHTTP2_CANCEL ? status.cancelled : status.unavailable;
  return new RpcError(
    refused,
    failure ? `the connection was lost: ${failure.message}` : "the stream was closed without a status",
    { cause: failure },
  );
}

async function* receive<O>(
  stream: ClientHttp2Stream,
  method: Method<unknown, O>,
  maxBytes: number,
  end: End,
  gone: AbortSignal,
): AsyncGenerator<O> {
  const reading = {
    maxBytes,
    get encoding() {
      return end.encoding();
    },
  };
  try {
    for await (const bytes of readMessages(stream.iterator({ destroyOnReturn: false }), reading))
      yield method.response.decode(bytes);
  } catch (error) {
    if (gone.aborted) throw gone.reason;
    if (error instanceof RpcError && !stream.closed) {
      stream.close(constants.NGHTTP2_CANCEL);
      throw error;
    }
  }
  if (gone.aborted) throw gone.reason;
  const failed = (await end.outcome)();
  if (failed) throw failed;
}

const text = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.at(-1) : value;
