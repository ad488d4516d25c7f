/** A container's log, and the standard streams of whoever attaches to it, in; what it says from now on out. */
import type { ContainerLog } from "../log/container-log.ts";
import type { LogLife } from "../log/history.ts";
import type { CommandStreams } from "./command-streams.ts";
import { writeLog } from "./log.ts";

const fromNow = { follow: true, timestamps: false, tailLines: 0, since: undefined, limitBytes: undefined };

/** Processes here have no input that one could write to: what they say is all there is. */
export async function attach(
  log: ContainerLog,
  life: LogLife,
  { stdin, stdout, stderr, finish, signal }: Omit<CommandStreams, "resized">,
): Promise<void> {
  stdin?.resume();
  const out = stdout ?? stderr;
  const end = (): void => void out?.destroy();
  signal.addEventListener("abort", end, { once: true });
  // Who has gone while the streams were opened is not told of any more.
  if (signal.aborted) end();
  if (out) await writeLog(log, life, fromNow, out);
  await finish({ metadata: {}, status: "Success" });
}
