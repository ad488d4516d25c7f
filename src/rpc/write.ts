/** Chunks of messages in; written to a stream at its pace, one message after the other, each chunk when the last was taken. */
import type { Writable } from "node:stream";
import { RpcError, status } from "./status.ts";

/** Resolves on `drain`; rejects when the stream closes or the signal aborts first. */
function drained(stream: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => (): void => {
      stream.off("drain", onDrain);
      stream.off("close", onClose);
      signal.removeEventListener("abort", onAbort);
      act();
    };
    const onDrain = settle(resolve);
    const onClose = settle(() => reject(new RpcError(status.cancelled, "the stream has closed")));
    const onAbort = settle(() => reject(signal.reason));
    if (signal.aborted) return onAbort();
    if (stream.destroyed) return onClose();
    stream.once("drain", onDrain);
    stream.once("close", onClose);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Undefined where all was taken at once; else the promise says when. */
export type Written = Promise<void> | undefined;

export interface WriterOptions {
  readonly stream: Writable;
  readonly signal: AbortSignal;
  /** Called before each chunk; throws where nothing may be written any more. */
  readonly check: () => void;
}

/** Messages of callers that do not know of each other must not mix, so each waits for the one before it. */
export function createWriter({ stream, signal, check }: WriterOptions): (chunks: Iterable<Uint8Array>) => Written {
  let last: Promise<void> | undefined;

  /** False once the stream wants to rest; what it was given it has. */
  function isTaken(chunk: Uint8Array): boolean {
    check();
    return stream.write(chunk);
  }

  async function rest(chunks: Iterator<Uint8Array>): Promise<void> {
    await drained(stream, signal);
    for (let next = chunks.next(); !next.done; next = chunks.next())
      if (!isTaken(next.value)) await drained(stream, signal);
  }

  function write(all: Iterable<Uint8Array>): Written {
    const chunks = all[Symbol.iterator]();
    try {
      for (let next = chunks.next(); !next.done; next = chunks.next()) if (!isTaken(next.value)) return rest(chunks);
    } catch (error) {
      return Promise.reject(error);
    }
    return undefined;
  }

  return (chunks) => {
    const written = last ? last.then(() => write(chunks)) : write(chunks);
    if (!written) return undefined;
    const settled = written
      .catch(() => {})
      .then(() => {
        if (last === settled) last = undefined;
      });
    last = settled;
    return written;
  };
}
