/** The process of simulated proxies as an object: started, waited for, asked, ended. */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { LoadAnswer, LoadCounts, LoadRequest, LoadStart } from "./load.ts";

export interface Driver {
  /** Resolves when every proxy has everything. */
  readonly warm: Promise<Warm>;
  /** Resolves when the proxies look out for the needle; what it gives resolves with the moments at which they had it. */
  watch(needle: string, proxies: number): Promise<Seen>;
  counts(): Promise<LoadCounts>;
  readonly pid: number | undefined;
  /** Resolves when nothing has come for a while. */
  quiet(forMs: number): Promise<LoadCounts>;
  close(): void;
}

export interface Warm {
  readonly tookMs: number;
  /** How long each stream, from its connect on, waited for its first response. */
  readonly firstMs: readonly number[];
}

export interface Seen {
  readonly at: Promise<readonly number[]>;
}

const pollMs = 100;

export function startDriver(start: Omit<LoadStart, "what">): Driver {
  const child = fork(join(import.meta.dirname, "load.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const answer = answers(child);
  const warm = answer("warm");
  send(child, { what: "start", ...start });
  const counts = async (): Promise<LoadCounts> => {
    const next = answer("counts");
    send(child, { what: "counts" });
    return await next;
  };
  return {
    warm,
    async watch(needle, proxies) {
      const [watching, seen] = [answer("watching"), answer("seen")];
      send(child, { what: "watch", needle, proxies });
      await watching;
      return { at: seen.then(({ at }) => at) };
    },
    counts,
    pid: child.pid,
    async quiet(forMs) {
      for (;;) {
        const now = await counts();
        if (now.quietMs > forMs) return now;
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    },
    close: () => child.disconnect(),
  };
}

const send = (child: ChildProcess, request: LoadRequest): void => void child.send(request);

type Answer<What extends LoadAnswer["what"]> = Extract<LoadAnswer, { readonly what: What }>;

/** The next answer of a kind; one that ends early fails whoever waits. */
function answers(child: ChildProcess): <What extends LoadAnswer["what"]>(what: What) => Promise<Answer<What>> {
  return <What extends LoadAnswer["what"]>(what: What) =>
    new Promise<Answer<What>>((resolve, reject) => {
      const isWanted = (answer: LoadAnswer): answer is Answer<What> => answer.what === what;
      const take = (answer: LoadAnswer): void => {
        if (!isWanted(answer)) return;
        child.off("message", take);
        child.off("exit", fail);
        resolve(answer);
      };
      const fail = (): void => reject(new Error("the process of simulated proxies has ended"));
      child.on("message", take);
      child.once("exit", fail);
    });
}
