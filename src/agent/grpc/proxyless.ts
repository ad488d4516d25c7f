/**
 * Whole options in; beside an application that is its own xDS client, what it reads (a bootstrap file that names the
 * agent's socket and the certificate files) and a status port, until the end, out. No Envoy is started.
 */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { replaceSecretFile } from "../../pki/index.ts";
import type { AgentOptions } from "../agent-options.ts";
import { readAppMetrics } from "../app-metrics.ts";
import { certificateFileNames } from "../identity/certificate-files.ts";
import { createOwnPeer } from "../own-peer.ts";
import { startStatusServer } from "../status-server.ts";
import { buildGrpcBootstrap, refreshSeconds } from "./bootstrap.ts";

export async function writeGrpcBootstrap(options: AgentOptions): Promise<void> {
  const { grpc, workDir, certificateFiles, rotation } = options;
  if (!grpc) return;
  const file = resolve(workDir, grpc.bootstrapFile);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const content = buildGrpcBootstrap({
    node: options.bootstrap.node,
    xdsSocket: resolve(workDir, grpc.xdsSocket),
    certificateFolder: certificateFiles && resolve(workDir, certificateFiles.folder),
    refreshSeconds: refreshSeconds(options.certificateTtlMs, rotation.graceRatio),
  });
  await replaceSecretFile(file, `${JSON.stringify(content, undefined, 2)}\n`, grpc.fileMode);
}

/** Resolves with the exit status when the signal, or `/quitquitquit`, ends it. */
export async function runProxyless(
  options: AgentOptions,
  agentMetrics: () => string,
  signal: AbortSignal,
): Promise<number> {
  const quit = new AbortController();
  const { appMetrics } = options;
  const server = await startStatusServer({
    host: options.statusHost,
    port: options.proxyConfig.statusPort ?? 15020,
    isOwn: createOwnPeer({ envoyPid: () => undefined, envoyUid: process.geteuid?.() ?? 0 }),
    notReady: async () => missingFile(options),
    envoyMetrics: async () => "",
    agentMetrics,
    proxyMetrics: () => [],
    appMetrics: async () => (appMetrics ? readAppMetrics(appMetrics, options.localhost) : ""),
    appProbes: options.appProbes,
    appAddress: options.appAddress,
    overload: options.overload,
    onQuit: () => quit.abort(),
    // The application drains its connections itself.
    onDrain: async () => {},
    log: options.log.scope("status"),
  });
  try {
    await aborted(AbortSignal.any([signal, quit.signal]));
    return 0;
  } finally {
    await server.close();
  }
}

/** Ready when the application finds all that it reads at its start. */
function missingFile({ grpc, workDir, certificateFiles }: AgentOptions): string | undefined {
  const certificates = certificateFiles
    ? Object.values(certificateFileNames).map((name) => join(certificateFiles.folder, name))
    : [];
  const missing = [...(grpc ? [grpc.bootstrapFile] : []), ...certificates].find(
    (file) => !existsSync(resolve(workDir, file)),
  );
  return missing === undefined ? undefined : `${missing} does not exist`;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
