/** Child processes that are never left behind: started with their output read or in a file, stopped politely, then by force. */
import { type ChildProcess, spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { ownerOf } from "../lib/index.ts";
import type { Journal, Leftover } from "./journal.ts";

export interface Running {
  readonly pid: number;
  /** Resolves with the exit status, or the signal's name. */
  readonly exited: Promise<number | string>;
  stop(graceMs: number): Promise<void>;
  /** Ends it and what it started at once. */
  kill(): void;
}

export interface StartOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Called with each line of output, or an open file for it. */
  readonly output: ((text: string) => void) | number;
  readonly journal: Journal;
}

export function startProcess(options: StartOptions): Running {
  const { output } = options;
  const sink = typeof output === "number" ? output : "pipe";
  const child: ChildProcess = spawn(options.file, [...options.args], {
    env: { ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ["ignore", sink, sink],
    // A group of its own: Ctrl-C in the terminal reaches only us, and we stop our children in order.
    detached: true,
  });
  if (typeof output === "function")
    for (const stream of [child.stdout, child.stderr]) if (stream) readLines(stream, output);
  const pid = child.pid ?? -1;
  const owner = ownerOf(pid);
  const item: Leftover | undefined = owner && { kind: "process", process: owner };
  if (item) noteDown(options.journal, item);
  const exited = new Promise<number | string>((resolve) => {
    child.once("error", (error) => {
      const text = `cannot start ${options.file}: ${error.message}`;
      if (typeof output === "function") output(text);
      else writeSync(output, `${text}\n`);
      resolve(127);
    });
    child.once("exit", (code, signal) => {
      if (item) options.journal.remove(item);
      resolve(code ?? signal ?? 1);
    });
  });
  return {
    pid,
    exited,
    stop: (graceMs) => stopGroup(pid, exited, graceMs),
    kill: () => signalGroup(pid, "SIGKILL"),
  };
}

/** A child with pipes for all of its standard streams, in a group of its own. */
export function spawnPiped(options: Omit<StartOptions, "output">): ChildProcess {
  const child = spawn(options.file, [...options.args], {
    env: { ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: "pipe",
    detached: true,
  });
  const owner = ownerOf(child.pid ?? -1);
  const item: Leftover | undefined = owner && { kind: "process", process: owner };
  if (item) {
    noteDown(options.journal, item);
    child.once("exit", () => options.journal.remove(item));
  }
  return child;
}

/**
 * It runs already: where a full disk takes no note of it, it is used all the same, and written down with the next thing.
 * To refuse it here would leave a process that nobody ends.
 */
function noteDown(journal: Journal, item: Leftover): void {
  try {
    journal.add(item);
  } catch {}
}

function readLines(stream: Readable, line: (text: string) => void): void {
  createInterface({ input: stream }).on("line", line);
}

async function stopGroup(pid: number, exited: Promise<unknown>, graceMs: number): Promise<void> {
  // Only the leader is asked: an agent first drains the Envoy that it has started, as a container's first process would.
  signalOne(pid, "SIGTERM");
  const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), graceMs);
  await exited;
  clearTimeout(timer);
  // The leader is gone; whatever it started and did not wait for goes too.
  signalGroup(pid, "SIGKILL");
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  if (pid <= 1) return;
  try {
    process.kill(pid, signal);
  } catch {
    // Already gone.
  }
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  if (pid <= 1) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Already gone.
  }
}
