/** A command for a container, and the standard streams of whoever asked for it, in; the command run, and how it ended, out. */
import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import { FairleadError } from "../../lib/index.ts";
import { signalGroup } from "../processes.ts";
import type { CommandStreams, Wanted } from "./command-streams.ts";
import { descendantsOf } from "./process-table.ts";
import { createResizer, onTerminal, resizeTerminal } from "./terminal.ts";

/** Starts a command beside the container's own process and like it: in a group of its own, with pipes. */
export type Spawn = (command: readonly string[]) => ChildProcess;

export async function runCommand(
  spawn: Spawn,
  command: readonly string[],
  streams: CommandStreams,
  wanted: Wanted,
): Promise<void> {
  let child: ChildProcess;
  try {
    child = spawn(wanted.tty ? onTerminal(command) : command);
  } catch (error) {
    // Such as a word with a zero byte in it, which no system takes.
    streams.stdin?.resume();
    return await streams.finish(failed(`cannot start: ${FairleadError.from(error).message}`));
  }
  const end = (): void => endAll(child.pid ?? -1);
  // With whoever asked for it goes what it does.
  streams.signal.addEventListener("abort", end, { once: true });
  if (streams.signal.aborted) end();
  child.stdin?.on("error", () => {});
  if (streams.stdin && child.stdin) streams.stdin.pipe(child.stdin);
  else child.stdin?.end();
  copy(child.stdout, streams.stdout);
  copy(child.stderr, streams.stderr ?? (wanted.tty ? streams.stdout : undefined));
  const { pid } = child;
  if (wanted.tty && pid !== undefined)
    streams.resized(createResizer((size) => resizeTerminal(pid, size, streams.signal)));
  const status = await new Promise<object>((resolve) => {
    child.once("error", (error) => resolve(failed(`cannot start: ${error.message}`)));
    child.once("close", (code, signal) => resolve(exitStatus(code ?? (signal === null ? 1 : 137))));
  });
  // What the command left behind would write to nobody, and what it did not read nobody else will.
  end();
  streams.stdin?.resume();
  await streams.finish(status);
}

/** On a terminal a command is in a session of its own, where the group that was started does not reach it. */
function endAll(pid: number): void {
  if (pid <= 1) return;
  for (const one of [...descendantsOf(pid), pid]) signalGroup(one, "SIGKILL");
}

function copy(from: ChildProcess["stdout"], to: Writable | undefined): void {
  if (to) from?.on("error", () => {}).pipe(to, { end: false });
  else from?.resume();
}

function exitStatus(code: number): object {
  if (code === 0) return { metadata: {}, status: "Success" };
  return {
    ...{ metadata: {}, status: "Failure", reason: "NonZeroExitCode" },
    message: `command terminated with non-zero exit code: exit status ${code}`,
    details: { causes: [{ reason: "ExitCode", message: String(code) }] },
  };
}

function failed(message: string): object {
  return { metadata: {}, status: "Failure", reason: "InternalError", message, code: 500 };
}
