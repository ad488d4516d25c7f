/** The requests of a stream in; the same, to one receiver after the other, from the beginning until they are released, out. */
import type { Payload, Send } from "../rpc/index.ts";

export interface HeldRequests {
  /**
   * Sends all that are held, then each that comes, until the stream or the signal ends. The first one says who asks:
   * only after it may others come between.
   */
  sendTo(send: Send<Payload>, afterFirst: () => void, signal: AbortSignal): Promise<void>;
  /** What has been sent is forgotten from now on. */
  release(): void;
  /** Whether the next receiver would have all. */
  canRepeat(): boolean;
}

/** What Envoy says before it is first answered is a handful of requests; one of them may list all it holds. */
const maxHeldBytes = 64 * 1024 * 1024;

export function holdRequests(requests: AsyncGenerator<Payload>): HeldRequests {
  const held: Payload[] = [];
  let [bytes, released, ended] = [0, false, false];
  let news = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();
  const tell = (): void => {
    news.resolve();
    news = Promise.withResolvers<void>();
  };
  const read = async (): Promise<void> => {
    for await (const request of requests) {
      held.push(request);
      bytes += sizeOf(request);
      tell();
      // Whoever sends more than a receiver takes is not read meanwhile.
      while (bytes >= maxHeldBytes) await room.promise;
    }
  };
  read()
    .catch(() => {})
    .finally(() => {
      ended = true;
      tell();
    });

  /** Resolves when there may be more. */
  const more = (signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = (): void => resolve();
    signal.addEventListener("abort", stop, { once: true });
    void news.promise.then(stop);
    return promise.finally(() => signal.removeEventListener("abort", stop));
  };
  return {
    async sendTo(send, afterFirst, signal) {
      for (let [at, isFirst] = [0, true]; !signal.aborted; ) {
        const request = held[at];
        if (request) {
          await send(request);
          // What is begun for a receiver that is gone, nobody would end.
          if (signal.aborted) return;
          at++;
          if (isFirst) afterFirst();
          isFirst = false;
        } else if (ended) return;
        else await more(signal);
        if (released) {
          for (const sent of held.splice(0, at)) bytes -= sizeOf(sent);
          at = 0;
          room.resolve();
          room = Promise.withResolvers<void>();
        }
      }
    },
    release() {
      released = true;
    },
    canRepeat: () => !released && !ended,
  };
}

const sizeOf = (request: Payload): number => request.reduce((sum, { length }) => sum + length, 0);
