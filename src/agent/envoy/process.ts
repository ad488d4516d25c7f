/** Envoy's command line in, a running Envoy out that never outlives the agent. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, existsSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { FairleadError, type Logger } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";

export interface EnvoyOptions {
  readonly binary: string;
  readonly configFile: string;
  readonly proxyConfig: ProxyConfigValues;
  readonly ipv6Only: boolean;
  /** Envoy's own words: `warning`, or with scopes `info,upstream:debug`. */
  readonly logLevel: string;
  readonly componentLogLevel: string;
  readonly skipDeprecatedLogs: boolean;
  readonly workDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Where Envoy's output goes, a line at a time, when it cannot be inherited; by default to our own output. */
  readonly writeLine?: (line: string) => void;
}

export interface EnvoyExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface EnvoyProcess {
  readonly pid: number;
  readonly exited: Promise<EnvoyExit>;
  /** Ends it at once. */
  kill(): void;
}

/** Istio's flags, in its order. */
export function envoyArguments(options: EnvoyOptions): readonly string[] {
  const { proxyConfig } = options;
  const seconds = (text: string | undefined, fallback: number): number =>
    Math.trunc(Number(text?.replace(/s$/, "") ?? fallback));
  const levels = options.logLevel.split(",");
  const level = levels.findLast((item) => !item.includes(":"));
  const scopes = levels.filter((item) => item.split(":").length === 2).join(",") || options.componentLogLevel;
  const flushMs =
    proxyConfig.fileFlushInterval === undefined ? 1000 : Number(proxyConfig.fileFlushInterval.replace(/s$/, "")) * 1000;
  return [
    ...["-c", options.configFile],
    ...["--drain-time-s", String(seconds(proxyConfig.drainDuration, 45))],
    // Clients are told as soon as draining starts.
    ...["--drain-strategy", "immediate"],
    ...["--local-address-ip-version", options.ipv6Only ? "v6" : "v4"],
    ...["--file-flush-interval-msec", String(flushMs)],
    "--disable-hot-restart",
    "--allow-unknown-static-fields",
    ...(proxyConfig.fileFlushMinSizeKb ? ["--file-flush-min-size-kb", String(proxyConfig.fileFlushMinSizeKb)] : []),
    ...(level ? ["-l", level] : []),
    ...(scopes ? ["--component-log-level", scopes] : []),
    ...(options.skipDeprecatedLogs ? ["--skip-deprecated-logs"] : []),
    ...(proxyConfig.concurrency ? ["--concurrency", String(proxyConfig.concurrency)] : []),
  ];
}

export async function startEnvoy(options: EnvoyOptions): Promise<EnvoyProcess> {
  requireProgram(options.binary);
  const output = openOutput(options);
  const args = envoyArguments(options);
  options.log.info("Envoy command", { args: args.join(" ") });
  const [program, ...rest] = withDeathSignal([options.binary, ...args]);
  const child = spawn(program ?? options.binary, rest, {
    cwd: options.workDir,
    env: options.env,
    stdio: ["ignore", output?.fd ?? "inherit", output?.fd ?? "inherit"],
  });
  if (output) closeSync(output.fd);
  const exited = new Promise<EnvoyExit>((resolve) => {
    child.once("exit", (code, signal) => {
      output?.close();
      resolve({ code, signal });
    });
  });
  return started(child, exited, options.binary);
}

/** Asked before, because the program that sets the death signal would start in its place and hide the failure. */
function requireProgram(binary: string): void {
  try {
    accessSync(binary, constants.X_OK);
  } catch (cause) {
    throw missing(binary, cause);
  }
}

async function started(child: ChildProcess, exited: Promise<EnvoyExit>, binary: string): Promise<EnvoyProcess> {
  const failed = once(child, "error").then(([cause]) => {
    throw missing(binary, cause);
  });
  failed.catch(() => {});
  await Promise.race([once(child, "spawn"), failed]);
  return { pid: child.pid ?? 0, exited, kill: () => void child.kill("SIGKILL") };
}

function missing(binary: string, cause: unknown): FairleadError {
  const hint = "install Envoy, or name it in FAIRLEAD_ENVOY or in ProxyConfig's binaryPath";
  return new FairleadError("missing-tool", `Envoy cannot be started: ${binary} is not there or not executable`, {
    hint,
    cause,
  });
}

/** The kernel ends Envoy when the agent dies without a word; only where the tool for it is there. */
function withDeathSignal(line: readonly string[]): readonly string[] {
  return existsSync("/usr/bin/setpriv") ? ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--", ...line] : line;
}

interface Output {
  /** The end that Envoy writes to. */
  readonly fd: number;
  close(): void;
}

/**
 * Access logs go to /dev/stdout, which Envoy opens anew: impossible where that is a socket (as between Node processes)
 * or belongs to another user. Then a named pipe of our own stands in, and its lines are passed on.
 */
function openOutput(options: EnvoyOptions): Output | undefined {
  if (options.writeLine === undefined && canReopenStdout()) return undefined;
  const path = join(options.workDir, `.envoy-output-${process.pid}`);
  rmSync(path, { force: true });
  if (spawnSync("mkfifo", ["-m", "600", path]).status !== 0) {
    options.log.warn("no pipe for Envoy's output can be made; access logs to /dev/stdout may fail");
    return undefined;
  }
  const reader = new Socket({
    fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  });
  const write = options.writeLine ?? ((line) => process.stdout.write(`${line}\n`));
  reader.on("error", () => {});
  createInterface({ input: reader }).on("line", write);
  return {
    fd: openSync(path, constants.O_WRONLY),
    close() {
      // What Envoy wrote last is still in the pipe.
      setTimeout(() => reader.destroy(), 100).unref();
      rmSync(path, { force: true });
    },
  };
}

function canReopenStdout(): boolean {
  try {
    closeSync(openSync("/dev/stdout", constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK));
    return true;
  } catch {
    return false;
  }
}
