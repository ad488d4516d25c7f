/** Whole options in; an Envoy with its bootstrap, watched and started again where that is wanted, and a status port, until the end, out. */
import { mkdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { createBackoff, wait } from "../../lib/index.ts";
import { replaceSecretFile } from "../../pki/index.ts";
import type { AgentMetrics } from "../agent-metrics.ts";
import type { AgentOptions } from "../agent-options.ts";
import { readAppMetrics } from "../app-metrics.ts";
import type { Closers } from "../closers.ts";
import { createOwnPeer, type OwnPeer } from "../own-peer.ts";
import { shortestPath } from "../socket-path.ts";
import { type StatusServer, startStatusServer } from "../status-server.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { createEnvoyAdmin, type EnvoyAdmin } from "./admin.ts";
import { adminAddress, adminPort, adminSocket } from "./admin-address.ts";
import { startAdminGate } from "./admin-gate.ts";
import { bootstrapFiles } from "./bootstrap-files.ts";
import { drainEnvoy } from "./drain.ts";
import { adoptEnvoy, type EnvoyExit, type EnvoyOptions, type EnvoyProcess, startEnvoy } from "./process.ts";
import { envoySilence, watchEnvoy } from "./watchdog.ts";

export interface EnvoyParts {
  readonly metrics: AgentMetrics;
  readonly telemetry: Telemetry;
  /** What the agent counts of itself, as text. */
  readonly figures: () => string;
}

/** Resolves with the exit status when the signal, `/quitquitquit` or Envoy itself ends it. */
export async function runEnvoy(
  options: AgentOptions,
  parts: EnvoyParts,
  signal: AbortSignal,
  closers: Closers,
): Promise<number> {
  const configFile = await writeBootstrap(options);
  let envoyPid: number | undefined;
  const isOwn = createOwnPeer({ envoyPid: () => envoyPid, envoyUid: process.geteuid?.() ?? 0 });
  const admin = await openAdmin(options, isOwn, closers);
  const quit = new AbortController();
  const drained = { already: false };
  const server = await serveStatus(options, { ...parts, admin, quit, drained, isOwn });
  closers.add(() => server.close());
  const backoff = createBackoff({ minMs: 500, maxMs: 30_000, random: options.random });
  for (;;) {
    const how = envoyOptions(options, configFile);
    const envoy = (await adoptEnvoy(how, admin)) ?? (await startEnvoy(how));
    envoyPid = envoy.pid;
    parts.metrics.envoyStarted();
    closers.add(() => envoy.kill());
    const gone = new AbortController();
    const hangs = AbortSignal.any([gone.signal, signal, quit.signal]);
    const watched = watchEnvoy(envoy, {
      admin,
      limits: options.envoySilence ?? envoySilence,
      log: options.log,
      signal: hangs,
    });
    void watched.then((hung) => hung && parts.metrics.envoyHung());
    const outcome = await firstOf(envoy, signal, quit.signal);
    gone.abort();
    if (outcome === "quit") return endNow(envoy);
    if (outcome === "stop") return drained.already ? endNow(envoy) : drain(envoy, admin, options);
    options.log.error("Envoy exited", { code: outcome.code ?? undefined, signal: outcome.signal ?? undefined });
    if (options.onEnvoyExit === "exit") return outcome.code ?? 1;
    await wait(backoff.nextMs(), AbortSignal.any([signal, quit.signal])).catch(() => {});
    if (signal.aborted || quit.signal.aborted) return 0;
  }
}

/** Where the bootstrap is ours, the agent is on the port that admins know. */
async function openAdmin(options: AgentOptions, isOwn: OwnPeer, closers: Closers): Promise<EnvoyAdmin> {
  const admin = createEnvoyAdmin(adminAddress(options));
  if (options.proxyConfig.customConfigFile) return admin;
  const gate = await startAdminGate({
    ...adminPort(options),
    socketPath: adminSocket(options),
    isOwn,
    log: options.log.scope("admin"),
    overload: options.overload,
  });
  closers.add(() => gate.close());
  return admin;
}

function envoyOptions(options: AgentOptions, configFile: string): EnvoyOptions {
  return {
    binary: options.envoyBinary,
    configFile,
    proxyConfig: options.proxyConfig,
    ipv6Only: options.ipv6Only,
    logLevel: options.proxyLogLevel,
    componentLogLevel: options.proxyComponentLogLevel,
    skipDeprecatedLogs: options.skipDeprecatedLogs,
    workDir: options.workDir,
    sockets: basename(dirname(options.bootstrap.xdsSocket)),
    env: options.env,
    log: options.log,
    ...(options.writeEnvoyLine ? { writeLine: options.writeEnvoyLine } : {}),
  };
}

async function writeBootstrap(options: AgentOptions): Promise<string> {
  const { configFile, written } = bootstrapFiles(options);
  for (const [path, text] of written) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await replaceSecretFile(path, text);
  }
  return configFile;
}

interface StatusParts extends EnvoyParts {
  readonly admin: EnvoyAdmin;
  readonly quit: AbortController;
  readonly drained: { already: boolean };
  readonly isOwn: OwnPeer;
}

function serveStatus(options: AgentOptions, parts: StatusParts): Promise<StatusServer> {
  const { telemetry, figures, admin, quit, drained, isOwn } = parts;
  const socket = (path: string): string => shortestPath(options.workDir, path);
  const { appMetrics } = options;
  return startStatusServer({
    host: options.statusHost,
    port: options.proxyConfig.statusPort ?? 15020,
    readinessSocket: socket(options.bootstrap.readinessSocket),
    mergedMetricsSocket: socket(options.bootstrap.mergedMetricsSocket),
    isOwn,
    notReady: () => admin.notReady(),
    envoyMetrics: (query) => admin.metrics(query),
    agentMetrics: figures,
    proxyMetrics: telemetry.metrics,
    appMetrics: async () => (appMetrics ? readAppMetrics(appMetrics, options.localhost) : ""),
    appProbes: options.appProbes,
    appAddress: options.appAddress,
    overload: options.overload,
    onQuit: () => quit.abort(),
    async onDrain() {
      drained.already = true;
      await admin.drain({ inboundOnly: options.type === "sidecar", skipExit: true });
    },
    log: options.log.scope("status"),
  });
}

async function firstOf(
  envoy: EnvoyProcess,
  stop: AbortSignal,
  quit: AbortSignal,
): Promise<EnvoyExit | "stop" | "quit"> {
  const when = <T>(signal: AbortSignal, value: T): Promise<T> =>
    new Promise((resolve) => {
      if (signal.aborted) resolve(value);
      else signal.addEventListener("abort", () => resolve(value), { once: true });
    });
  return Promise.race([envoy.exited, when(stop, "stop" as const), when(quit, "quit" as const)]);
}

async function endNow(envoy: EnvoyProcess): Promise<number> {
  envoy.kill();
  await envoy.exited;
  return 0;
}

async function drain(envoy: EnvoyProcess, admin: EnvoyAdmin, options: AgentOptions): Promise<number> {
  await drainEnvoy(envoy, {
    admin,
    inboundOnly: options.type === "sidecar",
    durationMs: options.terminationDrainMs,
    ...(options.exitWhenIdle ? { untilIdle: options.exitWhenIdle } : {}),
    log: options.log,
  });
  return 0;
}
