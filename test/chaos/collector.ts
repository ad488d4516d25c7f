/** The client's socket in; what it has counted, put together over many looks, out. */
import { type Failure, type Taken, takeLoad } from "./load.ts";

export interface Collector {
  /** Adds what has come since; answers by which configuration the last request came, or "" where the client is away. */
  look(): Promise<string>;
  /** Everything since the last drain. */
  drain(): Promise<Omit<Taken, "generation">>;
}

export function createCollector(socketPath: string): Collector {
  let [requests, slowestMs, failures]: [number, number, readonly Failure[]] = [0, 0, []];
  const look = async (): Promise<string> => {
    const taken = await takeLoad(socketPath).catch(() => undefined);
    if (!taken) return "";
    requests += taken.requests;
    slowestMs = Math.max(slowestMs, taken.slowestMs);
    failures = [...failures, ...taken.failures];
    return taken.generation;
  };
  return {
    look,
    async drain() {
      await look();
      const all = { requests, slowestMs, failures };
      [requests, slowestMs, failures] = [0, 0, []];
      return all;
    },
  };
}
