/** A program in a process of its own, with V8's settings as in `./fairlead up`; when to measure in, its longest turn out. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createMeter, type LongestTurn } from "./meter.ts";

type Order = "begin" | "end" | "watch" | "peak" | "resident" | "close";

export interface Measuring<T> {
  /** What the process said when it was ready. */
  readonly place: T;
  /** Runs `work` and tells the longest turn that the process had meanwhile, and shortly after. */
  longestTurn(work: () => Promise<unknown>): Promise<LongestTurn>;
  /** Runs `work` and tells by how many bytes the process was larger at most than before. */
  residentGrowth(work: () => Promise<unknown>): Promise<number>;
  /** How many bytes it has now. */
  resident(): Promise<number>;
  close(): Promise<void>;
}

/** Within the process: says that it is ready, and does as it is told. It ends with who started it. */
export function serveMeasured(place: unknown, close: () => Promise<unknown>): void {
  const meter = createMeter();
  const resident = createResidentPeak();
  const end = (): void => void close().then(() => process.exit(0));
  const orders: Readonly<Record<Order, () => unknown>> = {
    ...{ begin: meter.begin, end: meter.end },
    ...{ watch: resident.watch, peak: resident.peak, resident: () => process.memoryUsage.rss(), close: end },
  };
  process.on("message", (order: Order) => void Promise.resolve(orders[order]()).then(answer));
  process.once("disconnect", end);
  answer(place);
}

/** Looked at so often that nothing comes and goes unseen which is as large as what a test asks about. */
const lookMs = 5;

function createResidentPeak() {
  let [before, most] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  return {
    watch(): void {
      before = process.memoryUsage.rss();
      most = before;
      timer = setInterval(look, lookMs);
    },
    peak(): number {
      look();
      clearInterval(timer);
      return most - before;
    },
  };
}

function answer(said: unknown): void {
  if (process.connected) process.send?.(said ?? null);
}

export async function startMeasured<T>(file: string, ...args: readonly string[]): Promise<Measuring<T>> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, args, { execArgv: launcherSettings() });
  const place = (await said(child)) as T;
  const tell = async (order: Order): Promise<unknown> => {
    child.send(order);
    return said(child);
  };
  return {
    place,
    async longestTurn(work) {
      await tell("begin");
      await work();
      return (await tell("end")) as LongestTurn;
    },
    async residentGrowth(work) {
      await tell("watch");
      await work();
      return (await tell("peak")) as number;
    },
    resident: async () => (await tell("resident")) as number,
    async close() {
      const ended = once(child, "exit");
      child.send("close" satisfies Order);
      await ended;
    },
  };
}

async function said(child: ChildProcess): Promise<unknown> {
  const stop = new AbortController();
  const gone = once(child, "exit", stop).then(() => Promise.reject(new Error("a measured process has ended")));
  try {
    const [message] = await Promise.race([once(child, "message", stop), gone]);
    return message;
  } finally {
    gone.catch(() => {});
    stop.abort();
  }
}

/** What is measured runs as it does for people: the launcher has the settings of what runs long. */
function launcherSettings(): string[] {
  const launcher = readFileSync(new URL("../../fairlead", import.meta.url), "utf8");
  const [, line] = /^ *up \|[^)]*\)\n(?:.*\n)*?( *set -- .*)\n/m.exec(launcher) ?? [];
  const settings = line?.match(/--[a-z][a-z0-9=-]+/g);
  if (!settings) throw new Error("the launcher no longer says how it runs what runs long");
  return settings;
}
