/**
 * A command of ours as a child process: started again with back-off when it ends, and replaced when it lives but does
 * not answer. Its output goes to a file, so that it never waits for us.
 */
import { closeSync, readFileSync, rmSync } from "node:fs";
import {
  createBackoff,
  FairleadError,
  isRecord,
  type Logger,
  parseJson,
  type SilenceLimits,
  wait,
  watchSilence,
} from "../../lib/index.ts";
import {
  type ContainerLog,
  createContainerLog,
  type Journal,
  type Running,
  startProcess,
} from "../../standalone/index.ts";

export interface SupervisedOptions {
  /** As it is called in messages: `the control plane`. */
  readonly name: string;
  /** The whole command line; handed the addresses of its first life, which every further one must have again. */
  readonly command: (bound: ReadonlyMap<string, string> | undefined) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The file that its first life writes its addresses to once it serves. */
  readonly boundFile: string;
  readonly logFile: string;
  /** Told each line of its output. */
  readonly line: (text: string) => void;
  /** Resolves when it answers, with whether it serves already; `deadline` ends the wait. */
  readonly ask: (bound: ReadonlyMap<string, string>, deadline: AbortSignal) => Promise<boolean>;
  readonly journal: Journal;
  readonly log: Logger;
  readonly random: () => number;
  /** Ends the wait for the first start. */
  readonly signal: AbortSignal;
  /** Told of each further life. */
  readonly restarted: (pid: number) => void;
  /** Told what happens to it, for whoever looks at the mesh's Events. */
  readonly tell?: (reason: string, message: string) => void;
  readonly limits?: SilenceLimits;
  /** One that has served for so long is started again at once, whatever ended it. */
  readonly steadyMs?: number;
}

/** What ends one that starts, serves and falls over its first work does so sooner; who serves for longer is missed more than its start costs. */
const defaultSteadyMs = 2_000;

/** A machine without time starts slowly: who gave up too soon would start it again and again. */
const startMs = 120_000;

/** Long enough for a busy machine and the longest piece of work: one that is slow must not be taken for one that hangs. */
const defaultLimits: SilenceLimits = {
  ...{ periodMs: 2_000, answerMs: 5_000, warnMs: 10_000, replaceMs: 30_000, minQuestions: 4, startMs },
};

/** Its present life, and how the last one ended. */
export interface Life {
  readonly startedAt: Date;
  /** It has answered, and said that it serves. */
  readonly isServing: boolean;
  readonly last: { readonly status: number | string; readonly startedAt: Date; readonly finishedAt: Date } | undefined;
}

export interface Supervised {
  pid(): number;
  life(): Life;
  /** Ends it in good order; the next life begins by itself. */
  restart(): Promise<void>;
  /** How often it was started again. */
  restarts(): number;
  readonly addresses: ReadonlyMap<string, string>;
  readonly output: ContainerLog;
  stop(): Promise<void>;
}

export async function supervise(options: SupervisedOptions): Promise<Supervised> {
  const { name, log, steadyMs = defaultSteadyMs } = options;
  const output = createContainerLog(options.logFile, undefined);
  const unfollow = output.follow(options.line);
  const trimming = setInterval(output.trim, 10_000);
  const stopping = new AbortController();
  const backoff = createBackoff({ minMs: 100, maxMs: 10_000, random: options.random });
  let restarts = 0;
  let life: Life = { startedAt: new Date(), isServing: false, last: undefined };
  const next = (bound: ReadonlyMap<string, string> | undefined): Running => {
    const running = launch(options, output, bound, restarts);
    life = { ...life, startedAt: new Date(), isServing: false };
    return running;
  };
  let current = next(undefined);
  const end = async (): Promise<void> => {
    stopping.abort();
    await current.stop(10_000);
    clearInterval(trimming);
    unfollow();
  };
  /** One that was ended from outside, or by the runtime for want of memory, is no mistake of its user's: it is tried again. */
  const again = async (status: number | string): Promise<Running | undefined> => {
    if (typeof status === "number") return undefined;
    await pause(status);
    if (stopping.signal.aborted) return undefined;
    restarts++;
    current = next(undefined);
    return current;
  };
  const addresses = await firstAddresses(current, options, again).catch(async (error: unknown) => {
    await end();
    throw error;
  });

  life = { ...life, isServing: true };

  const live = async (): Promise<void> => {
    const ending = new AbortController();
    let servesSince: number | undefined;
    const serves = (): void => {
      servesSince ??= performance.now();
      life = { ...life, isServing: true };
    };
    const watching = endWhenSilent(options, { running: current, bound: addresses, serves, signal: ending.signal });
    const status = await current.exited;
    ending.abort();
    await watching;
    life = { ...life, isServing: false, last: { status, startedAt: life.startedAt, finishedAt: new Date() } };
    if (stopping.signal.aborted) return;
    if (servesSince !== undefined && performance.now() - servesSince >= steadyMs) backoff.reset();
    await pause(status);
  };
  async function pause(status: number | string): Promise<void> {
    const waitMs = backoff.nextMs();
    const { reason, why } = howItEnded(status, output.tail(lastWordsBytes), name);
    const message = `${name} ended with ${status}${why}; starting it again in ${Math.round(waitMs)} ms`;
    log.warn(message);
    options.tell?.(reason, message);
    await wait(waitMs, AbortSignal.any([stopping.signal, options.signal])).catch(() => {});
  }
  const watch = async (): Promise<void> => {
    for (;;) {
      await live();
      if (stopping.signal.aborted) return;
      current = await start(addresses);
      if (stopping.signal.aborted) return;
      options.restarted(current.pid);
    }
  };
  /** Until it can be started: files or processes may be short for a while. */
  async function start(bound: ReadonlyMap<string, string>): Promise<Running> {
    restarts++;
    for (;;) {
      try {
        return next(bound);
      } catch (error) {
        await pause(FairleadError.from(error).message);
        if (stopping.signal.aborted) return current;
      }
    }
  }
  void watch();
  return {
    pid: () => current.pid,
    life: () => life,
    restart: () => current.stop(10_000),
    restarts: () => restarts,
    addresses,
    output,
    stop: end,
  };
}

function launch(
  options: SupervisedOptions,
  log: ContainerLog,
  bound: ReadonlyMap<string, string> | undefined,
  restarts: number,
): Running {
  // Further lives have the same addresses and write none: one that comes back to a full disk must not fail for that.
  if (!bound) rmSync(options.boundFile, { force: true });
  const [file = "", ...args] = options.command(bound);
  const output = log.open();
  try {
    const env = { ...options.env, [restartsVariable]: String(restarts) };
    const running = startProcess({ file, args, env, output, journal: options.journal });
    void running.exited.then(log.ended);
    return running;
  } finally {
    closeSync(output);
  }
}

/** Tells a child how often it was started again. */
const restartsVariable = "FAIRLEAD_RESTARTS";

export function readRestarts(env: Readonly<Record<string, string | undefined>>): number {
  const text = env[restartsVariable] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** Node's last words when its heap is full; a list of what it was doing follows. */
const lastWordsBytes = 16 * 1024;
const outOfMemory = /JavaScript heap out of memory|Array buffer allocation failed/;

function howItEnded(
  status: number | string,
  lastLines: string,
  name: string,
): { readonly reason: string; readonly why: string } {
  if (!outOfMemory.test(lastLines)) return { reason: status === "SIGKILL" ? "Killed" : "Exited", why: "" };
  const remedy = "give more with NODE_OPTIONS=--max-old-space-size=MB";
  return { reason: "OutOfMemory", why: `: ${name} ran out of memory (${remedy})` };
}

interface Watched {
  readonly running: Running;
  readonly bound: ReadonlyMap<string, string>;
  /** Told each time it is found serving. */
  readonly serves: () => void;
  readonly signal: AbortSignal;
}

/** One that does not answer is replaced: whoever waits for its end starts another. */
async function endWhenSilent(options: SupervisedOptions, { running, bound, serves, signal }: Watched): Promise<void> {
  const { name, log, limits = defaultLimits } = options;
  const ask = async (deadline: AbortSignal): Promise<void> => {
    if (await options.ask(bound, deadline)) serves();
  };
  const silence = await watchSilence({ name, log, limits, signal, ask });
  if (silence === undefined) return;
  log.error(silence);
  options.tell?.("Unhealthy", silence);
  running.kill();
}

/** `again` starts another in place of one that has ended, where that may help. */
async function firstAddresses(
  first: Running,
  options: SupervisedOptions,
  again: (status: number | string) => Promise<Running | undefined>,
): Promise<ReadonlyMap<string, string>> {
  let child: Running | undefined = first;
  while (child) {
    const found: ReadonlyMap<string, string> | number | string = await waitForAddresses(child, options);
    if (typeof found === "object") return found;
    child = await again(found);
    options.signal.throwIfAborted();
    if (!child) throw new FairleadError("unavailable", `${options.name} ended with ${found} while starting`, { hint });
  }
  throw new FairleadError("unavailable", `${options.name} was stopped while starting`);
}

const hint = "its last lines above say why";

/** Or how it ended before it had any. */
async function waitForAddresses(
  child: Running,
  options: SupervisedOptions,
): Promise<ReadonlyMap<string, string> | number | string> {
  let ended: number | string | undefined;
  void child.exited.then((status) => {
    ended = status;
  });
  const deadline = performance.now() + startMs;
  while (performance.now() < deadline) {
    if (ended !== undefined) return ended;
    const found = readAddresses(options.boundFile);
    if (found) return found;
    await wait(20, options.signal);
  }
  throw new FairleadError("timeout", `${options.name} did not start in ${startMs / 1000} s`, { hint });
}

function readAddresses(file: string): ReadonlyMap<string, string> | undefined {
  try {
    const value = parseJson(readFileSync(file, "utf8"));
    if (!isRecord(value)) return undefined;
    return new Map(Object.entries(value).map(([name, address]) => [name, String(address)]));
  } catch {
    return undefined;
  }
}
