/** A command in; the same on a terminal of its own, whose size can be changed, out. Node makes none: util-linux' `script` does. */
import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { wait } from "../../lib/index.ts";
import type { TerminalSize } from "./command-streams.ts";

export function onTerminal(command: readonly string[]): readonly string[] {
  return [
    "script",
    "--quiet",
    "--return",
    "--flush",
    "--command",
    `exec ${command.map(quoted).join(" ")}`,
    "/dev/null",
  ];
}

/** For a shell, whatever is in it. */
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Each takes a process: while one is being set, of those that come the last one counts. */
export function createResizer(set: (size: TerminalSize) => Promise<void>): (size: TerminalSize) => void {
  let next: TerminalSize | undefined;
  let isBusy = false;
  const run = async (): Promise<void> => {
    isBusy = true;
    for (let size = next; size; size = next) {
      next = undefined;
      await set(size);
    }
    isBusy = false;
  };
  return (size) => {
    next = size;
    if (!isBusy) void run();
  };
}

const [tries, pauseMs] = [40, 50];

/** `script` may still be about to start the command. */
export async function resizeTerminal(script: number, size: TerminalSize, signal: AbortSignal): Promise<void> {
  for (let i = 0; i < tries && !signal.aborted; i++) {
    const terminal = terminalOf(script);
    if (terminal === undefined) await wait(pauseMs, signal).catch(() => {});
    else return await setSize(terminal, size);
  }
}

/** One that has gone meanwhile has no size. */
function setSize(terminal: string, { rows, columns }: TerminalSize): Promise<void> {
  return new Promise((resolve) => {
    execFile("stty", ["-F", terminal, "rows", String(rows), "cols", String(columns)], { timeout: sttyMs }, () =>
      resolve(),
    );
  });
}

const sttyMs = 5_000;

function terminalOf(script: number): string | undefined {
  try {
    const [child] = readFileSync(`/proc/${script}/task/${script}/children`, "utf8").trim().split(" ");
    const found = readlinkSync(`/proc/${child}/fd/0`);
    return /^\/dev\/pts\/\d+$/.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}
