/** Arguments in; what the program prints and its exit status out. For tests. */
import { runProgram } from "./program.ts";

export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runCli(
  args: readonly string[],
  cwd = process.cwd(),
  timeoutMs = 60_000,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  let [stdout, stderr] = ["", ""];
  const status = await runProgram(args, {
    env,
    cwd,
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    tty: false,
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { status, stdout, stderr };
}
