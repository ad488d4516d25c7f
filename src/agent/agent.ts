/**
 * The sidecar's side of the mesh: whole options in, a running Envoy out with an identity, a configuration and a
 * health port, until it is told to end. Then nothing is left behind but the last names; an agent that is killed leaves its
 * Envoy to the next.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { FairleadError } from "../lib/index.ts";
import { credentialSocket } from "../model/index.ts";
import {
  type ClientTls,
  createRpcClient,
  createRpcServer,
  type Route,
  type RpcClient,
  type RpcClientOptions,
  type RpcServer,
} from "../rpc/index.ts";
import { lockAgent } from "./agent-lock.ts";
import { createAgentMetrics } from "./agent-metrics.ts";
import type { AgentOptions, Endpoint } from "./agent-options.ts";
import type { BootstrapOptions } from "./bootstrap/context.ts";
import { type Closers, createClosers } from "./closers.ts";
import { type DnsProxy, startDnsProxy } from "./dns/dns-proxy.ts";
import { createNamesFile } from "./dns/names-file.ts";
import { createEnvoyAdmin } from "./envoy/admin.ts";
import { adminAddress } from "./envoy/admin-address.ts";
import { livingEnvoy, proxyFolder } from "./envoy/record.ts";
import { runEnvoy } from "./envoy/run-envoy.ts";
import { runProxyless, writeGrpcBootstrap } from "./grpc/proxyless.ts";
import { createHealthReports, type HealthReports } from "./health/health-reports.ts";
import { createCertificateClient, tokenMetadata, trustFile } from "./identity/certificate-client.ts";
import { clientCertificate, writeCertificateFiles } from "./identity/certificate-files.ts";
import { createFileIdentity } from "./identity/file-identity.ts";
import { createRevocationList } from "./identity/revocation-list.ts";
import { createSdsRoutes } from "./identity/sds.ts";
import { createSecretSource, type SecretSource } from "./identity/secrets.ts";
import { createTrustBundle, isSignedUnderFirst, type TrustBundle } from "./identity/trust-bundle.ts";
import { createWorkloadIdentity, type WorkloadIdentity } from "./identity/workload-identity.ts";
import type { OwnSubscription } from "./own-subscription.ts";
import { shortestPath } from "./socket-path.ts";
import { createTelemetry, type Telemetry } from "./telemetry/telemetry.ts";
import { reportTraffic } from "./telemetry/traffic-reporter.ts";
import { createSecretHider } from "./wasm/hide-secrets.ts";
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

export function createAgent(options: AgentOptions): Agent {
  return {
    async run(signal) {
      const closers = createClosers(options.log);
      const ended = new AbortController();
      closers.add(() => ended.abort());
      try {
        closers.add(await lockAgent(options.workDir, options.log));
        // First of all: while nobody answers, the Pod looks up no name.
        const dns = await serveDns(options, closers);
        makeSocketsFolder(options, closers);
        const identity = mountedIdentity(options) ?? createIdentity(options);
        const trustBundle = followTrustBundle(options, identity);
        const secrets = await serveIdentity(options, { identity, trustBundle, closers, ended: ended.signal });
        const telemetry = await serveTelemetry(options, closers);
        const health = probeWorkload(options, ended.signal);
        const own = [telemetry, trustBundle, dns, health].flatMap((part) => (part ? [part.subscription] : []));
        const modules = fetchModules(options, ended.signal);
        const client = connectPlane(options, closers);
        await serveXds(options, client, { own, modules, onFirst: telemetry.sees }, closers);
        if (mayReport(options)) tellTraffic(options, client, telemetry, ended.signal);
        const bootstrap = { ...options.bootstrap, ...secrets };
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

/** With its one folder, whose name nobody can guess; what an agent left that was killed goes, unless its Envoy is there. */
function makeSocketsFolder({ workDir, socketsFolder, bootstrap }: AgentOptions, closers: Closers): void {
  const folder = resolve(workDir, socketsFolder);
  if (!livingEnvoy(workDir)) rmSync(folder, { recursive: true, force: true });
  mkdirSync(resolve(workDir, dirname(bootstrap.xdsSocket)), { recursive: true, mode: 0o700 });
  closers.add(() => rmSync(folder, { recursive: true, force: true }));
}

/** A certificate that a platform mounts takes the place of the CA's. */
function mountedIdentity({ workDir, log }: AgentOptions): WorkloadIdentity | undefined {
  return createFileIdentity(resolve(workDir, "./var/run/secrets/workload-spiffe-credentials"), log.scope("identity"));
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

/**
 * Returns the sockets for Envoy. One that somebody else serves (SPIRE) is left to them, and the CA is not asked; what is in
 * files is served beside it, and the control plane is told so as Istio's agent tells it.
 */
async function serveIdentity(
  options: AgentOptions,
  { identity, trustBundle, closers, ended }: IdentityParts,
): Promise<Pick<BootstrapOptions, "sdsSocket" | "node"> & Partial<Pick<BootstrapOptions, "fileSdsSocket">>> {
  const log = options.log.scope("sds");
  const { sdsSocket } = options.bootstrap;
  const node = await withCredentialServer(options);
  const path = options.foreignSdsSocket;
  if (await isServed(shortestPath(options.workDir, path))) {
    options.log.info("the identity socket is served by another process, which is used", { path });
    const files = createSecretSource({ identity, extraRoots: () => "", log });
    await listen(options, sdsSocket, createSdsRoutes(files, log), closers);
    const metadata = { ...node.metadata, "file-credential": "true" };
    return { sdsSocket: path, fileSdsSocket: sdsSocket, node: { ...node, metadata } };
  }
  if (basename(path) !== usualIdentitySocket)
    throw new FairleadError(
      "not-found",
      `nobody serves identities on ${path}, which WORKLOAD_IDENTITY_SOCKET_FILE names`,
      {
        hint: "start who is to serve them first, or leave it unset",
      },
    );
  renewCertificates(identity, options, ended);
  const { revokedFile, workDir } = options;
  const source = createSecretSource({
    ...{ identity, extraRoots: () => options.extraRoots, trustBundle, log },
    ...(revokedFile === undefined ? {} : { revoked: createRevocationList(resolve(workDir, revokedFile), log) }),
  });
  writeCertificates(options, source, closers);
  await listen(options, sdsSocket, createSdsRoutes(source, log), closers);
  return { sdsSocket, node };
}

/** Where somebody serves credentials whose names begin with `sds://`, the control plane is told so, as Istio's agent tells it. */
async function withCredentialServer({ bootstrap, workDir, log }: AgentOptions): Promise<BootstrapOptions["node"]> {
  if (!(await isServed(shortestPath(workDir, credentialSocket)))) return bootstrap.node;
  log.info("credentials are served by another process, which is used", { path: credentialSocket });
  return { ...bootstrap.node, metadata: { ...bootstrap.node.metadata, credential: "true" } };
}

/** Of the agent's own making, in Istio. */
const usualIdentitySocket = "socket";

async function serveTelemetry(options: AgentOptions, closers: Closers): Promise<Telemetry> {
  const admin = createEnvoyAdmin(adminAddress(options));
  const telemetry = createTelemetry({
    node: options.bootstrap.node,
    envoyMetrics: (query) => admin.metrics(query),
    log: options.log.scope("telemetry"),
  });
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
  const { proxyConfig, appAddress } = options;
  if (!proxyConfig.readinessProbe) return undefined;
  const admin = createEnvoyAdmin(adminAddress(options));
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

/** For all calls to the control plane but those for certificates. */
function connectPlane(options: AgentOptions, closers: Closers): RpcClient {
  const { discovery } = options;
  const { tls, metadata } = callerOf(options, discovery);
  const client = createRpcClient({
    target: discovery.target,
    ...(discovery.plaintext ? {} : { tls }),
    // A token is never sent in the clear.
    metadata: async () => ({ ...options.xdsHeaders, ...(discovery.plaintext ? {} : await metadata()) }),
  });
  closers.add(() => client.close());
  return client;
}

/** Who proves nothing is not believed. */
const mayReport = ({ runsEnvoy, discovery, reportIntervalMs }: AgentOptions): boolean =>
  runsEnvoy && !discovery.plaintext && reportIntervalMs > 0;

function tellTraffic(options: AgentOptions, client: RpcClient, { edges, taps }: Telemetry, signal: AbortSignal): void {
  const { random, appAddress: address, reportIntervalMs: intervalMs } = options;
  const log = options.log.scope("traffic");
  const monotonicMs = (): number => performance.now();
  reportTraffic({ client, address, edges, taps, intervalMs, monotonicMs, random, log }, signal).catch((error) => {
    if (!signal.aborted) log.error("requests are no longer reported", { cause: FairleadError.from(error).message });
  });
}

interface XdsParts {
  readonly own: readonly OwnSubscription[];
  readonly modules: RemoteModules | undefined;
  readonly onFirst: Telemetry["sees"];
}

async function serveXds(
  options: AgentOptions,
  client: RpcClient,
  { own, modules, onFirst }: XdsParts,
  closers: Closers,
): Promise<void> {
  const rewriter = modules?.rewriter ?? createSecretHider();
  const routes = createXdsRelay({ client, log: options.log.scope("xdsproxy"), own, onFirst, rewriter });
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
