/** A typed method and its handler in, a route that a server can serve out: unary, server-streaming, bidirectional. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Call, WireCall } from "./call.ts";
import type { Take } from "./each-message.ts";
import type { Decoder, Method } from "./method.ts";
import { RpcError, status } from "./status.ts";

export interface Route {
  readonly path: string;
  /** Runs the call to its end; what it throws becomes the status. */
  serve(call: WireCall): Promise<void>;
}

/** Undefined where the transport has taken the message at once; else the promise says when. */
export type Send<O> = (message: O) => Promise<void> | undefined;

/** Hands over each message as it comes; resolves when the client has said its last. */
export type Each<I> = (take: Take<I>) => Promise<void>;

export function unary<I, O>(method: Method<I, O>, handler: (request: I, call: Call) => Promise<O>): Route {
  return {
    path: method.path,
    async serve(call) {
      const answer = await handler(await single(method, call), call);
      await call.send(method.response.encode(answer));
    },
  };
}

export function serverStream<I, O>(
  method: Method<I, O>,
  handler: (request: I, call: Call, send: Send<O>) => Promise<void>,
): Route {
  return {
    path: method.path,
    serve: async (call) =>
      handler(await single(method, call), call, (message) => call.send(method.response.encode(message))),
  };
}

export function bidi<I, O>(
  method: Method<I, O>,
  handler: (requests: AsyncGenerator<I>, call: Call, send: Send<O>) => Promise<void>,
): Route {
  return {
    path: method.path,
    serve: (call) => handler(decoded(method, call), call, (message) => call.send(method.response.encode(message))),
  };
}

/** As `bidi`, for many calls that live long and say little: a message costs no more than its taker does with it. */
export function duplex<I, O>(
  method: Omit<Method<never, O>, "request"> & { readonly request: Decoder<I> },
  handler: (each: Each<I>, call: Call, send: Send<O>) => Promise<void>,
): Route {
  const { decode } = method.request;
  const ownTurn = createLine();

  /** Nobody is left who would undo what is done for a call that is over. */
  async function turnOf(call: Call): Promise<void> {
    await ownTurn();
    call.signal.throwIfAborted();
  }

  async function takeLarge(call: Call, bytes: Uint8Array, take: Take<I>): Promise<void> {
    await turnOf(call);
    const message = decode(bytes);
    await turnOf(call);
    await take(message);
  }

  return {
    path: method.path,
    serve: (call) =>
      handler(
        (take) =>
          call.each((bytes) => (bytes.length > largeBytes ? takeLarge(call, bytes, take) : take(decode(bytes)))),
        call,
        (message) => call.send(method.response.encode(message)),
      ),
  };
}

/**
 * From so many bytes on, to decode a message is work enough for a turn: what is done with it has another one, and so has each
 * of those that many clients send at once.
 */
const largeBytes = 256 * 1024;

/** Turns of the event loop, one for each who waits, first come first served. */
function createLine(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}

async function* decoded<I>(method: Method<I, unknown>, call: WireCall): AsyncGenerator<I> {
  for await (const bytes of call.messages()) yield method.request.decode(bytes);
}

async function single<I>(method: Method<I, unknown>, call: WireCall): Promise<I> {
  let first: { readonly request: I } | undefined;
  const take = (bytes: Uint8Array): undefined => {
    if (first) throw new RpcError(status.unimplemented, "the call has more than one request message");
    first = { request: method.request.decode(bytes) };
  };
  await call.each(take, { untilEnd: true });
  if (!first) throw new RpcError(status.unimplemented, "the call has no request message");
  return first.request;
}
