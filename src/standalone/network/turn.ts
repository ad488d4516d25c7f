/**
 * In: a mesh that is about to take ranges of addresses on this machine. Out: its turn to do so. Between the look at the
 * routes and a route of one's own another mesh could take the same ranges, and both would have them.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import { FairleadError, type Logger, systemCode, wait } from "../../lib/index.ts";

/** A name without a file, known where the routes are: each network namespace has its own. It ends with its process. */
const socketName = "\0fairlead takes ranges";

const lookEveryMs = 20;

/**
 * Longer than any mesh takes, also where several have come before on a busy machine: who goes on without a turn may have the
 * same ranges as they. Somebody else's socket of that name must keep nobody from starting.
 */
const longestMs = 60_000;

export interface TurnOptions {
  readonly log: Logger;
  /** Ends the waiting, with its reason. */
  readonly signal: AbortSignal;
  readonly maxMs?: number;
  readonly name?: string;
}

/** Gives up waiting, and goes on without a turn, where it takes too long. */
export async function takeTurn(options: TurnOptions): Promise<{ end(): void }> {
  const { log, signal, maxMs = longestMs, name = socketName } = options;
  const until = performance.now() + maxMs;
  for (let hasTold = false; ; hasTold = true) {
    const server = createServer((socket) => socket.destroy());
    try {
      server.listen(name);
      await once(server, "listening");
      server.unref();
      // Whoever knocks is told nothing anyway: where descriptors are wanting, that is no reason to end.
      server.on("error", () => {});
      return { end: () => void server.close() };
    } catch (error) {
      const why = systemCode(error) === "EADDRINUSE" ? undefined : FairleadError.from(error).message;
      if (why !== undefined || performance.now() >= until) {
        log.warn("addresses are chosen without a turn: another mesh that starts now may choose the same", {
          cause: why ?? `somebody else has had it for ${maxMs / 1000} s`,
        });
        return { end: () => {} };
      }
    }
    if (!hasTold) log.info("another mesh on this machine is choosing its addresses: waiting for it");
    await wait(lookEveryMs, signal);
  }
}
