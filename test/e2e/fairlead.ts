/** The bundle as a child process, for tests that go through the front door. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findEnvoy } from "../require.ts";

export const root = join(import.meta.dirname, "../..");

const addressFlags = [
  "--api-addr",
  "--grpcAddr",
  "--secureGRPCAddr",
  "--monitoringAddr",
  "--httpsAddr",
  "--httpAddr",
  "--gateway-addr",
  "--dashboard-addr",
];
/** Of `up`: wherever there is room, and this machine left as it is. */
export const anyPort: readonly string[] = [...addressFlags.flatMap((flag) => [flag, "127.0.0.1:0"]), "--no-outside"];

export interface Started {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves when the text has been printed on stdout; rejects when the process ends first. */
  until(text: string): Promise<void>;
  readonly exited: Promise<number | string>;
}

/** `under` is a command that runs it, such as `setpriv … --`; `place` is where that finds this checkout. */
export function startFairlead(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
  place = root,
): Started {
  const node = process.execPath.startsWith(`${root}/`)
    ? join(place, process.execPath.slice(root.length))
    : process.execPath;
  const [program = "", ...rest] = [...under, node, join(place, "dist/main.js"), ...args];
  const child = spawn(program, rest, {
    env: { ...process.env, FAIRLEAD_ENVOY: findEnvoy() ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  const waiting = new Set<() => void>();
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    for (const check of waiting) check();
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const exited = new Promise<number | string>((resolve) =>
    child.on("close", (code, signal) => resolve(code ?? signal ?? 1)),
  );
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    until: (text) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (!stdout.includes(text)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
        void exited.then((status) => reject(new Error(`ended with ${status} before "${text}":\n${stderr}`)));
      }),
  };
}

/** Runs to the end. */
export async function fairlead(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ status: number | string; stdout: string; stderr: string }> {
  const started = startFairlead(args, env);
  const status = await started.exited;
  return { status, stdout: started.stdout(), stderr: started.stderr() };
}

export function addressesOf(data: string): Readonly<Record<string, string | number>> {
  return JSON.parse(readFileSync(join(data, "addresses.json"), "utf8"));
}
