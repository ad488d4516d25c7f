/** Writing to a stream at its pace: one message after the other, each chunk when the last was taken. */
import type { Writable } from "node:stream";
import { RpcError, status } from "./status.ts";

/** Resolves on `drain`; rejects when the stream closes or the signal aborts first. */
export function drained(stream: Writable, signal: AbortSignal): Promise<void> {
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

/** Messages of callers that do not know of each other must not mix, so each waits for the one before it. */
export function inTurn<T>(write: (message: T) => Promise<void>): (message: T) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (message) => {
    const turn = last.then(() => write(message));
    last = turn.catch(() => {});
    return turn;
  };
}
