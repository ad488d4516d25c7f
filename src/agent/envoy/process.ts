/** Envoy's command line in, a running Envoy out: started, or taken over from an agent that has died. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { digest, FairleadError, isAlive, type Logger, type Owner, ownerOf, wait } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";
import type { EnvoyAdmin } from "./admin.ts";
import { findEnvoys, isStartedWith } from "./own-process.ts";
import { type EnvoyRecord, livingEnvoy, proxyFolder, removeEnvoyRecord, writeEnvoyRecord } from "./record.ts";

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
  /** Secret name of the folder with the agent's sockets. */
  readonly sockets: string;
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
  /** Started by an agent before this one. */
  readonly adopted: boolean;
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

/**
 * In a session of its own, and written down: an agent that dies leaves its Envoy running, with its certificate and
 * configuration, and the next agent takes it over.
 */
export async function startEnvoy(options: EnvoyOptions): Promise<EnvoyProcess> {
  requireProgram(options.binary);
  const output = openOutput(options, `.envoy-output-${process.pid}`);
  const args = envoyArguments(options);
  options.log.info("Envoy command", { args: args.join(" ") });
  const writer = output && openSync(output.path, constants.O_WRONLY);
  const child = spawn(options.binary, args, {
    cwd: options.workDir,
    env: options.env,
    stdio: ["ignore", writer ?? "inherit", writer ?? "inherit"],
    detached: true,
  });
  if (writer !== undefined) closeSync(writer);
  const exited = new Promise<EnvoyExit>((resolve) => {
    child.once("exit", (code, signal) => {
      output?.close();
      removeEnvoyRecord(options.workDir);
      resolve({ code, signal });
    });
  });
  const envoy = await started(child, exited, options.binary);
  const owner = ownerOf(envoy.pid);
  if (owner) {
    const { sockets } = options;
    const record = { process: owner, version: versionOf(options), sockets, output: output?.name ?? "" };
    await writeEnvoyRecord(options.workDir, record);
  }
  return envoy;
}

/**
 * The Envoy that an agent before this one has left, where it runs with the same bootstrap and its admin does not say that
 * it is another's; undefined where there is none. What is not adopted is ended: its ports are the next one's.
 */
export async function adoptEnvoy(
  options: EnvoyOptions,
  admin: Pick<EnvoyAdmin, "configFile">,
): Promise<EnvoyProcess | undefined> {
  const record = recordedEnvoy(options);
  const reason = record && (await whyNot(record, options, admin));
  const adopted = reason === undefined ? record : undefined;
  if (record && reason !== undefined)
    options.log.info(`the Envoy that is running ${reason}, and is replaced`, { pid: record.process.pid });
  for (const envoy of findEnvoys(options)) if (envoy.pid !== adopted?.process.pid) await end(envoy);
  return adopted && takeOver(adopted, options);
}

/** A record may be older than the process that has its number now: nobody else's is touched. */
function recordedEnvoy(options: EnvoyOptions): EnvoyRecord | undefined {
  const record = livingEnvoy(options.workDir);
  if (!record || isStartedWith(record.process.pid, options.configFile)) return record;
  options.log.warn("the process that is written down as Envoy is another one; it is left alone", {
    pid: record.process.pid,
  });
  removeEnvoyRecord(options.workDir);
  return undefined;
}

/** One that does not answer is not asked again: whoever watches it ends its silence. */
async function whyNot(
  { version }: EnvoyRecord,
  options: EnvoyOptions,
  admin: Pick<EnvoyAdmin, "configFile">,
): Promise<string | undefined> {
  if (version !== versionOf(options)) return "has another bootstrap";
  const configFile = await admin.configFile().catch(() => options.configFile);
  return configFile === options.configFile ? undefined : "serves another proxy";
}

async function end(envoy: Owner): Promise<void> {
  killOwn(envoy);
  await untilDead(envoy);
}

async function takeOver(record: EnvoyRecord, options: EnvoyOptions): Promise<EnvoyProcess> {
  const { pid } = record.process;
  options.log.info("the Envoy that is running is taken over", { pid });
  await writeEnvoyRecord(options.workDir, record);
  const output = record.output === "" ? undefined : openOutput(options, record.output);
  const exited = untilDead(record.process).then((): EnvoyExit => {
    output?.close();
    removeEnvoyRecord(options.workDir);
    return { code: null, signal: null };
  });
  return { pid, exited, adopted: true, kill: () => killOwn(record.process) };
}

/** One that is not our child tells nobody of its end. */
const lookMs = 100;

async function untilDead(owner: Owner): Promise<void> {
  while (isAlive(owner)) await wait(lookMs);
}

function killOwn(owner: Owner): void {
  if (isAlive(owner)) process.kill(owner.pid, "SIGKILL");
}

function versionOf(options: EnvoyOptions): string {
  return digest([options.binary, ...envoyArguments(options), readFileSync(options.configFile, "utf8")].join("\n"));
}

/** Asked before anything is made for it. */
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
  return { pid: child.pid ?? 0, exited, adopted: false, kill: () => void child.kill("SIGKILL") };
}

function missing(binary: string, cause: unknown): FairleadError {
  const hint = "install Envoy, or name it in FAIRLEAD_ENVOY or in ProxyConfig's binaryPath";
  return new FairleadError("missing-tool", `Envoy cannot be started: ${binary} is not there or not executable`, {
    hint,
    cause,
  });
}

interface Output {
  readonly name: string;
  /** Where Envoy's end of the pipe is opened. */
  readonly path: string;
  close(): void;
}

/**
 * Access logs go to /dev/stdout, which Envoy opens anew: impossible where that is a socket (as between Node processes)
 * or belongs to another user. Then a named pipe of our own stands in, and its lines are passed on.
 */
function openOutput(options: EnvoyOptions, name: string): Output | undefined {
  const folder = proxyFolder(options.workDir);
  const path = join(folder, name);
  if (!existsSync(path) && options.writeLine === undefined && canReopenStdout()) return undefined;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!existsSync(path) && spawnSync("mkfifo", ["-m", "600", path]).status !== 0) {
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
    name,
    path,
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
