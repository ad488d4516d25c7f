/**
 * The sidecar's side of the mesh: whole options in, a running Envoy out with an identity, a configuration and a
 * health port, until it is told to end. Then nothing is left behind but the last names; an agent that is killed leaves its
 * Envoy to the next.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createBackoff, FairleadError, wait } from "../lib/index.ts";
import { replaceSecretFile } from "../pki/index.ts";
import {
  type ClientTls,
  createRpcClient,
  createRpcServer,
  type Route,
  type RpcClientOptions,
  type RpcServer,
} from "../rpc/index.ts";
import { lockAgent } from "./agent-lock.ts";
import { type AgentMetrics, createAgentMetrics } from "./agent-metrics.ts";
import type { AgentOptions, Endpoint } from "./agent-options.ts";
import { readAppMetrics } from "./app-metrics.ts";
import { buildBootstrap, lightstepTokenFile } from "./bootstrap/bootstrap.ts";
import { type DnsProxy, startDnsProxy } from "./dns/dns-proxy.ts";
import { createNamesFile } from "./dns/names-file.ts";
import { createEnvoyAdmin, type EnvoyAdmin } from "./envoy/admin.ts";
import { startAdminGate } from "./envoy/admin-gate.ts";
import { drainEnvoy } from "./envoy/drain.ts";
import { adoptEnvoy, type EnvoyExit, type EnvoyOptions, type EnvoyProcess, startEnvoy } from "./envoy/process.ts";
import { livingEnvoy, proxyFolder } from "./envoy/record.ts";
import { envoySilence, watchEnvoy } from "./envoy/watchdog.ts";
import { runProxyless, writeGrpcBootstrap } from "./grpc/proxyless.ts";
import { createHealthReports, type HealthReports } from "./health/health-reports.ts";
import { createCertificateClient, tokenMetadata, trustFile } from "./identity/certificate-client.ts";
import { clientCertificate, writeCertificateFiles } from "./identity/certificate-files.ts";
import { createRevocationList } from "./identity/revocation-list.ts";
import { createSdsRoutes } from "./identity/sds.ts";
import { createSecretSource, type SecretSource } from "./identity/secrets.ts";
import { createTrustBundle, isSignedUnderFirst, type TrustBundle } from "./identity/trust-bundle.ts";
import { createWorkloadIdentity, type WorkloadIdentity } from "./identity/workload-identity.ts";
import { createOwnPeer, type OwnPeer } from "./own-peer.ts";
import type { OwnSubscription } from "./own-subscription.ts";
import type { Place } from "./request-text.ts";
import { type StatusServer, startStatusServer } from "./status-server.ts";
import { createTelemetry, type Telemetry } from "./telemetry/telemetry.ts";
import { createRemoteModules, type RemoteModules } from "./wasm/remote-modules.ts";
import { createXdsRelay } from "./xds-relay.ts";

export interface Agent {
  /** Runs until the signal (drain, then end), `/quitquitquit` (end) or Envoy's own end; resolves with the exit status. */
  run(signal: AbortSignal): Promise<number>;
}

type CallerOptions = Pick<RpcClientOptions, "tls" | "metadata">;

interface IdentityParts {
  readonly identity: WorkloadIdentity;
  readonly trustBundle: TrustBundle;
  readonly closers: Closers;
  readonly ended: AbortSignal;
}

/** What must be put away at the end, last made first. */
interface Closers {
  add(close: () => Promise<unknown> | unknown): void;
  closeAll(): Promise<void>;
}

export function createAgent(options: AgentOptions): Agent {
  return {
    async run(signal) {
      const closers = createClosers(options);
      const ended = new AbortController();
      closers.add(() => ended.abort());
      try {
        closers.add(await lockAgent(options.workDir, options.log));
        // First of all: while nobody answers, the Pod looks up no name.
        const dns = await serveDns(options, closers);
        makeSocketsFolder(options, closers);
        const identity = createIdentity(options);
        const trustBundle = followTrustBundle(options, identity);
        const sdsSocket = await serveIdentity(options, { identity, trustBundle, closers, ended: ended.signal });
        const telemetry = await serveTelemetry(options, closers);
        const health = probeWorkload(options, ended.signal);
        const own = [telemetry, trustBundle, dns, health].flatMap((part) => (part ? [part.subscription] : []));
        const modules = fetchModules(options, ended.signal);
        await serveXds(options, own, modules, closers);
        const bootstrap = { ...options.bootstrap, sdsSocket };
        const metrics = createAgentMetrics({ identity, overload: options.overload, now: options.now });
        closers.add(() => metrics.close());
        await writeGrpcBootstrap(options);
        const figures = (): string => metrics.text() + (dns?.metrics() ?? "") + (modules?.metrics() ?? "");
        if (!options.runsEnvoy) return await runProxyless(options, figures, signal);
        return await runEnvoy({ ...options, bootstrap }, { metrics, telemetry, figures }, signal, closers);
      } finally {
        await closers.closeAll();
      }
    },
  };
}

function createClosers({ log }: AgentOptions): Closers {
  const list: (() => Promise<unknown> | unknown)[] = [];
  return {
    add: (close) => list.unshift(close),
    async closeAll() {
      for (const close of list)
        try {
          await close();
        } catch (error) {
          log.warn("something could not be closed", { cause: FairleadError.from(error).message });
        }
    },
  };
}

/** With its one folder, whose name nobody can guess; what an agent left that was killed goes, unless its Envoy is there. */
function makeSocketsFolder({ workDir, socketsFolder, bootstrap }: AgentOptions, closers: Closers): void {
  const folder = resolve(workDir, socketsFolder);
  if (!livingEnvoy(workDir)) rmSync(folder, { recursive: true, force: true });
  mkdirSync(resolve(workDir, dirname(bootstrap.xdsSocket)), { recursive: true, mode: 0o700 });
  closers.add(() => rmSync(folder, { recursive: true, force: true }));
}

function createIdentity(options: AgentOptions): WorkloadIdentity {
  const { ca } = options;
  const { tls, metadata } = callerOf(options, ca);
  return createWorkloadIdentity({
    ...options.rotation,
    fetch: createCertificateClient({
      target: ca.target,
      tls,
      metadata: async () => ({ ...options.caHeaders, ...(await metadata()) }),
      certSigner: options.certSigner,
      algorithm: options.keyAlgorithm,
      ttlMs: options.certificateTtlMs,
      altNames: options.identityUri === "" ? [] : [{ type: "uri", value: options.identityUri }],
    }),
    now: options.now,
    random: options.random,
    log: options.log.scope("identity"),
  });
}

/** Another root, or the same ones told anew, asks for a certificate of whoever signs now: so does Istio's agent. */
function followTrustBundle({ log }: AgentOptions, identity: WorkloadIdentity): TrustBundle {
  const bundle = createTrustBundle(log.scope("identity"));
  let isFirst = true;
  bundle.onChange(() => {
    const current = identity.current();
    const isOurs = current !== undefined && isSignedUnderFirst(current, bundle.current());
    if (!(isFirst && isOurs)) identity.renewSoon();
    isFirst = false;
  });
  return bundle;
}

function renewCertificates(identity: WorkloadIdentity, { log }: AgentOptions, signal: AbortSignal): void {
  identity.run(signal).catch((error) => {
    if (!signal.aborted) log.error("certificates are no longer renewed", { cause: FairleadError.from(error).message });
  });
}

/** Who the agent is to the control plane: the certificate that it was left with, if any, and its token. */
function callerOf(options: AgentOptions, { rootFile, serverName }: Endpoint): Required<CallerOptions> {
  const { workDir, certificateFolder, now } = options;
  const certificate = (): Pick<ClientTls, "cert" | "key"> =>
    certificateFolder === undefined ? {} : clientCertificate(resolve(workDir, certificateFolder), now);
  const trust = trustFile(resolve(workDir, rootFile), serverName);
  return {
    tls: () => ({ ...trust(), ...certificate() }),
    metadata: tokenMetadata(resolve(workDir, options.tokenFile), () => certificate().cert !== undefined),
  };
}

function writeCertificates(options: AgentOptions, source: SecretSource, closers: Closers): void {
  const { certificateFiles, workDir, log } = options;
  if (!certificateFiles) return;
  const folder = resolve(workDir, certificateFiles.folder);
  const files = writeCertificateFiles({ source, folder, mode: certificateFiles.mode, log: log.scope("identity") });
  closers.add(files.settled);
}

/** Returns the socket for Envoy; one that somebody else serves (SPIRE) is left to them, and the CA is not asked. */
async function serveIdentity(
  options: AgentOptions,
  { identity, trustBundle, closers, ended }: IdentityParts,
): Promise<string> {
  if (await isServed(shortestPath(options.workDir, options.foreignSdsSocket))) {
    options.log.info("the identity socket is served by another process, which is used", {
      path: options.foreignSdsSocket,
    });
    return options.foreignSdsSocket;
  }
  renewCertificates(identity, options, ended);
  const log = options.log.scope("sds");
  const { revokedFile, workDir } = options;
  const source = createSecretSource({
    ...{ identity, extraRoots: () => options.extraRoots, trustBundle, log },
    ...(revokedFile === undefined ? {} : { revoked: createRevocationList(resolve(workDir, revokedFile), log) }),
  });
  writeCertificates(options, source, closers);
  await listen(options, options.bootstrap.sdsSocket, createSdsRoutes(source, log), closers);
  return options.bootstrap.sdsSocket;
}

async function serveTelemetry(options: AgentOptions, closers: Closers): Promise<Telemetry> {
  const telemetry = createTelemetry({ node: options.bootstrap.node, log: options.log.scope("telemetry") });
  const { telemetrySocket } = options.bootstrap;
  if (telemetrySocket !== undefined) await listen(options, telemetrySocket, telemetry.routes, closers);
  return telemetry;
}

async function serveDns(options: AgentOptions, closers: Closers): Promise<DnsProxy | undefined> {
  const { dns, discovery, workDir, random, overload } = options;
  if (!dns) return undefined;
  const log = options.log.scope("dns");
  const names = createNamesFile({
    path: join(proxyFolder(workDir), "names"),
    owner: `${dns.namespace} ${JSON.stringify(discovery.target)}`,
    log,
  });
  const proxy = await startDnsProxy({ ...dns, names, random, overload, log });
  closers.add(() => proxy.close());
  return proxy;
}

/** Of a workload outside Kubernetes; Pods are probed by their kubelet. */
function probeWorkload(options: AgentOptions, signal: AbortSignal): HealthReports | undefined {
  const { proxyConfig, appAddress, workDir, bootstrap } = options;
  if (!proxyConfig.readinessProbe) return undefined;
  const admin = createEnvoyAdmin(adminPlace(options, shortestPath(workDir, bootstrap.adminSocket)));
  const log = options.log.scope("health");
  const reports = createHealthReports({
    ...{ probe: proxyConfig.readinessProbe, appAddress, log },
    proxyNotReady: () => admin.notReady(),
  });
  reports.run(signal).catch((error) => {
    if (!signal.aborted) log.error("the workload is no longer probed", { cause: FairleadError.from(error).message });
  });
  return reports;
}

function fetchModules(options: AgentOptions, signal: AbortSignal): RemoteModules | undefined {
  const { wasm, workDir, now, random } = options;
  return wasm && createRemoteModules({ wasm, workDir, now, random, signal, log: options.log.scope("wasm") });
}

async function serveXds(
  options: AgentOptions,
  own: readonly OwnSubscription[],
  modules: RemoteModules | undefined,
  closers: Closers,
): Promise<void> {
  const { discovery } = options;
  const { tls, metadata } = callerOf(options, discovery);
  const client = createRpcClient({
    target: discovery.target,
    ...(discovery.plaintext ? {} : { tls }),
    // A token is never sent in the clear.
    metadata: async () => ({ ...options.xdsHeaders, ...(discovery.plaintext ? {} : await metadata()) }),
  });
  closers.add(() => client.close());
  const rewriter = modules ? { rewriter: modules.rewriter } : {};
  const routes = createXdsRelay({ client, log: options.log.scope("xdsproxy"), own, ...rewriter });
  if (options.runsEnvoy) await listen(options, options.bootstrap.xdsSocket, routes, closers);
  else if (options.grpc) {
    const { xdsSocket, socketMode } = options.grpc;
    await listen(options, xdsSocket, routes, closers);
    chmodSync(resolve(options.workDir, xdsSocket), socketMode);
  }
}

async function listen(
  options: AgentOptions,
  path: string,
  routes: readonly Route[],
  closers: Closers,
): Promise<RpcServer> {
  // Envoy's answers to what it is sent are small, but its first request lists all it holds.
  const server = createRpcServer({ routes, limits: { maxMessageBytes: 64 * 1024 * 1024 }, log: options.log });
  await server.listen({ path: shortestPath(options.workDir, path) });
  closers.add(() => server.close());
  return server;
}

async function runEnvoy(
  options: AgentOptions,
  parts: Pick<StatusParts, "metrics" | "telemetry" | "figures">,
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

/** A bootstrap that the user wrote has its admin where the user put it; ours has it on a socket, and the agent on the port. */
async function openAdmin(options: AgentOptions, isOwn: OwnPeer, closers: Closers): Promise<EnvoyAdmin> {
  const socketPath = shortestPath(options.workDir, options.bootstrap.adminSocket);
  const admin = createEnvoyAdmin(adminPlace(options, socketPath));
  if (options.proxyConfig.customConfigFile) return admin;
  const gate = await startAdminGate({
    ...adminPort(options),
    socketPath,
    isOwn,
    log: options.log.scope("admin"),
    overload: options.overload,
  });
  closers.add(() => gate.close());
  return admin;
}

const adminPort = ({ localhost, proxyConfig }: AgentOptions) => ({
  host: localhost,
  port: proxyConfig.proxyAdminPort ?? 15000,
});

const adminPlace = (options: AgentOptions, socketPath: string): Place =>
  options.proxyConfig.customConfigFile ? adminPort(options) : { socketPath };

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
  const { proxyConfig } = options;
  if (proxyConfig.customConfigFile) return proxyConfig.customConfigFile;
  const folder = resolve(options.workDir, proxyConfig.configPath ?? ".");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const token = proxyConfig.tracing?.lightstep?.accessToken;
  if (token)
    await replaceSecretFile(resolve(options.workDir, lightstepTokenFile(proxyConfig.configPath ?? ".")), token);
  const file = resolve(folder, "envoy-rev.json");
  await replaceSecretFile(file, `${JSON.stringify(buildBootstrap(options.bootstrap), undefined, 2)}\n`);
  return file;
}

interface StatusParts {
  readonly metrics: AgentMetrics;
  readonly telemetry: Telemetry;
  /** What the agent counts of itself, as text. */
  readonly figures: () => string;
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

/** Socket paths may have 107 bytes, so the shorter way to the same place is taken. */
function shortestPath(workDir: string, path: string): string {
  const absolute = resolve(workDir, path);
  const here = relative(process.cwd(), absolute);
  return here.length < absolute.length ? here : absolute;
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const end = (served: boolean) => (): void => {
      socket.destroy();
      resolve(served);
    };
    socket.once("connect", end(true));
    socket.once("error", end(false));
  });
}
