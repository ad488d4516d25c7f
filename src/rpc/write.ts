/** Chunks of messages in; written to a stream at its pace, one message after the other, each chunk when the last was taken. */
import type { Writable } from "node:stream";
import { RpcError, status } from "./status.ts";

/**
 * A way to wait for the stream: it resolves on `drain`, and rejects when the stream closes or is given up first. One at a
 * time waits. A large message waits many times, so the listeners stay from the first time on.
 */
function createDrained(stream: Writable) {
  let waiting: PromiseWithResolvers<void> | undefined;
  let listens = false;
  let drains = 0;
  let given: RpcError | undefined;

  function take(): PromiseWithResolvers<void> | undefined {
    const taken = waiting;
    waiting = undefined;
    return taken;
  }
  const onDrain = (): void => {
    drains++;
    take()?.resolve();
  };
  const onClose = (): void => take()?.reject(new RpcError(status.cancelled, "the stream has closed"));

  function drained(): Promise<void> {
    const wait = Promise.withResolvers<void>();
    waiting = wait;
    if (given) giveUp(given);
    else if (stream.destroyed) onClose();
    else if (!listens) {
      listens = true;
      stream.on("drain", onDrain);
      stream.once("close", onClose);
    }
    return wait.promise;
  }
  function giveUp(reason: RpcError): void {
    given = reason;
    take()?.reject(reason);
  }
  return { drained, giveUp, drains: () => drains };
}

/** Undefined where all was taken at once; else the promise says when. */
export type Written = Promise<void> | undefined;

/** Of one message, so that a large one need not wait for each of its chunks. */
const maxWaiting = 256 * 1024;

export interface WriterOptions {
  readonly stream: Writable;
  /** Called before each chunk; throws where nothing may be written any more. */
  readonly check: () => void;
}

export interface Writer {
  write(chunks: Iterable<Uint8Array>): Written;
  /** How often the reader has taken all that waited for it: while a message is written and this stays the same, it takes none. */
  drains(): number;
  /** Whoever waits is told why, and nobody waits any more. */
  giveUp(reason: RpcError): void;
}

/** Messages of callers that do not know of each other must not mix, so each waits for the one before it. */
export function createWriter({ stream, check }: WriterOptions): Writer {
  const { drained, giveUp, drains } = createDrained(stream);
  let last: Promise<void> | undefined;

  /** Hands chunks over until the stream has enough; true where it wants to rest first. */
  function isFull(chunks: Iterator<Uint8Array>): boolean {
    let full = false;
    while (!full || stream.writableLength < maxWaiting) {
      const next = chunks.next();
      // The next message waits for a stream that is full, however little that is.
      if (next.done) return full;
      check();
      full = !stream.write(next.value);
    }
    return true;
  }

  async function rest(chunks: Iterator<Uint8Array>): Promise<void> {
    do await drained();
    while (isFull(chunks));
  }

  function writeNow(all: Iterable<Uint8Array>): Written {
    const chunks = all[Symbol.iterator]();
    try {
      return isFull(chunks) ? rest(chunks) : undefined;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function write(chunks: Iterable<Uint8Array>): Written {
    const written = last ? last.then(() => writeNow(chunks)) : writeNow(chunks);
    if (!written) return undefined;
    const settled = written
      .catch(() => {})
      .then(() => {
        if (last === settled) last = undefined;
      });
    last = settled;
    return written;
  }
  return { write, drains, giveUp };
}
