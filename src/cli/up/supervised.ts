/**
 * A command of ours as a child process: started again with back-off when it ends, and replaced when it lives but does
 * not answer. Its output goes to a file, so that it never waits for us.
 */
import { closeSync, readFileSync, rmSync } from "node:fs";
import { createBackoff, FairleadError, isRecord, type Logger, parseJson, wait } from "../../lib/index.ts";
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
  /** The file that it writes its addresses to once it serves. */
  readonly boundFile: string;
  readonly logFile: string;
  /** Told each line of its output. */
  readonly line: (text: string) => void;
  /** Resolves when it answers, whatever the answer; `deadline` ends the wait. */
  readonly ask: (bound: ReadonlyMap<string, string>, deadline: AbortSignal) => Promise<unknown>;
  readonly journal: Journal;
  readonly log: Logger;
  readonly random: () => number;
  /** Ends the wait for the first start. */
  readonly signal: AbortSignal;
  /** Told of each further life. */
  readonly restarted: (pid: number) => void;
  readonly limits?: SilenceLimits;
}

export interface SilenceLimits {
  readonly periodMs: number;
  readonly answerMs: number;
  /** Silent for so long, it is spoken of. */
  readonly warnMs: number;
  /** Silent for so long, it is replaced. */
  readonly replaceMs: number;
}

/** Long enough for a busy machine and the longest piece of work: one that is slow must not be taken for one that hangs. */
const defaultLimits: SilenceLimits = { periodMs: 2_000, answerMs: 5_000, warnMs: 10_000, replaceMs: 30_000 };

export interface Supervised {
  pid(): number;
  /** How often it was started again. */
  restarts(): number;
  readonly addresses: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

export async function supervise(options: SupervisedOptions): Promise<Supervised> {
  const { name, log } = options;
  const output = createContainerLog(options.logFile, undefined);
  const unfollow = output.follow(options.line);
  const trimming = setInterval(output.trim, 10_000);
  const stopping = new AbortController();
  const backoff = createBackoff({ minMs: 100, maxMs: 10_000, random: options.random });
  let restarts = 0;
  let current = launch(options, output, undefined);
  const end = async (): Promise<void> => {
    stopping.abort();
    await current.stop(10_000);
    clearInterval(trimming);
    unfollow();
  };
  const addresses = await waitForAddresses(current, options).catch(async (error: unknown) => {
    await end();
    throw error;
  });

  const live = async (): Promise<void> => {
    const started = performance.now();
    const life = new AbortController();
    const watching = watchSilence(options, current, addresses, life.signal);
    const status = await current.exited;
    life.abort();
    await watching;
    if (stopping.signal.aborted) return;
    // One that ran for a while was fine: begin again with a short wait.
    if (performance.now() - started > 30_000) backoff.reset();
    const waitMs = backoff.nextMs();
    log.warn(`${name} ended with ${status}; starting it again in ${Math.round(waitMs)} ms`);
    await wait(waitMs, stopping.signal).catch(() => {});
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      await live();
      if (stopping.signal.aborted) return;
      current = launch(options, output, addresses);
      restarts++;
      options.restarted(current.pid);
    }
  };
  void watch();
  return { pid: () => current.pid, restarts: () => restarts, addresses, stop: end };
}

function launch(
  options: SupervisedOptions,
  log: ContainerLog,
  bound: ReadonlyMap<string, string> | undefined,
): Running {
  rmSync(options.boundFile, { force: true });
  const [file = "", ...args] = options.command(bound);
  const output = log.open();
  try {
    return startProcess({ file, args, env: options.env, output, journal: options.journal });
  } finally {
    closeSync(output);
  }
}

/** Time counts only while we run ourselves: each silence is as long as our own waiting for an answer. */
async function watchSilence(
  options: SupervisedOptions,
  running: Running,
  bound: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const { periodMs, answerMs, warnMs, replaceMs } = options.limits ?? defaultLimits;
  let [silentMs, told] = [0, false];
  while (!signal.aborted) {
    await wait(periodMs, signal).catch(() => {});
    if (signal.aborted) return;
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
    const answered = await options.ask(bound, deadline).then(
      () => true,
      () => false,
    );
    if (answered && told) options.log.info(`${options.name} answers again`);
    silentMs = answered ? 0 : silentMs + periodMs + answerMs;
    if (answered) told = false;
    if (signal.aborted || answered) continue;
    if (silentMs >= warnMs && !told) options.log.warn(`${options.name} has not answered for ${silentMs / 1000} s`);
    told ||= silentMs >= warnMs;
    if (silentMs < replaceMs) continue;
    options.log.error(`${options.name} has not answered for ${silentMs / 1000} s, and is replaced`);
    return running.kill();
  }
}

async function waitForAddresses(child: Running, options: SupervisedOptions): Promise<ReadonlyMap<string, string>> {
  let ended: number | string | undefined;
  void child.exited.then((status) => {
    ended = status;
  });
  const hint = "its last lines above say why";
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    if (ended !== undefined)
      throw new FairleadError("unavailable", `${options.name} ended with ${ended} while starting`, { hint });
    const found = readAddresses(options.boundFile);
    if (found) return found;
    await wait(20, options.signal);
  }
  throw new FairleadError("timeout", `${options.name} did not start in 30 s`, { hint });
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
