/**
 * Objects in; a mesh of real agents with stock Envoys out, each Pod a network namespace with capture, behind a control
 * plane and a CA that agents reach as in a cluster. Played by the test: the API (objects in memory) and the token's judge.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { applyCapture, createRunCommand, defaultCapture } from "../../src/agent/index.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  createCertificateService,
  createOwnSigner,
  createSelfSignedBundle,
} from "../../src/ca/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import type { Identity, KubeObject } from "../../src/model/index.ts";
import { type Call, createRpcServer, type Route, RpcError, status } from "../../src/rpc/index.ts";
import { startProcess } from "../../src/standalone/index.ts";
import type { TapView, TrafficView } from "../../src/traffic/index.ts";
import { pod } from "../render/objects.ts";
import { findEnvoy } from "../require.ts";
import { type Caller, startCaller } from "../traffic/caller.ts";
import { type ControlPlane, createControlPlane } from "../traffic/control-plane.ts";
import { createTrafficNetwork } from "../traffic/network.ts";

export interface MetricsMesh {
  apply(...objects: readonly KubeObject[]): Promise<void>;
  serviceAddress(): string;
  /** What the control plane was told. */
  readonly traffic: TrafficView;
  readonly taps: TapView;
  /** Resolves when its Envoy is ready. */
  workload(name: string, options?: WorkloadOptions): Promise<Workload>;
  close(): Promise<void>;
}

export interface WorkloadOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** A script that runs in the Pod as its application. */
  readonly app?: string;
}

export interface Workload {
  readonly address: string;
  readonly caller: Caller;
  /** What Prometheus would be told. */
  scrape(): Promise<string>;
}

const trustDomain = "cluster.local";
const namespace = "default";
const group = "1337";
const capture = {
  ...defaultCapture,
  proxyUid: group,
  proxyGid: group,
  inboundInterceptionMode: "REDIRECT",
  outboundIpRangesInclude: "*",
  inboundPortsInclude: "*",
  inboundPortsExclude: "15090,15021,15020",
};
const main = join(import.meta.dirname, "../../src/cli/main.ts");

/** A token has the form of one, and in it the account's name. */
const tokenOf = (account: string): string => `e30.${account}.e30`;
const identityOf = (token: string): Identity => ({ trustDomain, namespace, serviceAccount: token.split(".")[1] ?? "" });

export async function startMetricsMesh(objects: readonly KubeObject[]): Promise<MetricsMesh> {
  const dir = mkdtempSync(join(tmpdir(), "fl-metrics-"));
  const network = await createTrafficNetwork();
  const controlPlane = createControlPlane(objects);
  const bundle = await createSelfSignedBundle({ organization: trustDomain, now: new Date() });
  const authority = createCertificateAuthority({ bundle, now: () => new Date() });
  const host = await network.hostAddress();
  const server = await serve(controlPlane, authority, host);
  const closers: (() => Promise<unknown> | unknown)[] = [server.close];
  const apply = async (...changed: readonly KubeObject[]): Promise<void> => {
    controlPlane.apply(changed);
    await controlPlane.settled();
  };
  const run = (command: readonly string[], env: Readonly<Record<string, string>>, cwd: string): readonly string[] => {
    const said: string[] = [];
    const [file = "", ...args] = command;
    const all = { PATH: process.env.PATH ?? "/usr/bin", NODE_NO_WARNINGS: "1", ...env };
    const { journal } = network;
    const started = startProcess({ file, args, env: all, cwd, output: (line) => said.push(line), journal });
    closers.unshift(() => started.stop(3000));
    return said;
  };

  return {
    apply,
    serviceAddress: network.serviceAddress,
    traffic: controlPlane.traffic.view,
    taps: controlPlane.traffic.taps,
    async workload(name, options = {}) {
      const { path, address } = await network.pod();
      await applyCapture(capture, { run: createRunCommand(path), log: () => {} });
      const own = pod(name, { address, proxy: "sidecar", labels: options.labels ?? {} });
      await apply(own);
      const home = join(dir, name);
      writeFiles(home, {
        "var/run/secrets/tokens/istio-token": tokenOf(name),
        "var/run/secrets/istio/root-cert.pem": authority.roots(),
        "etc/istio/pod/labels": downward(own.metadata.labels),
        "etc/istio/pod/annotations": downward(options.annotations),
        "app.mjs": options.app ?? "",
      });
      const enter = ["nsenter", `--net=${path}`, "--"];
      if (options.app !== undefined) run([...enter, process.execPath, "app.mjs"], {}, home);
      const asProxy = [...enter, "setpriv", `--regid=${group}`, "--clear-groups", "--"];
      const env = agentEnv(name, address, `${host}:${server.port}`);
      const said = run([...asProxy, process.execPath, main, "agent", "proxy", "sidecar"], env, home);
      await untilReady(`http://${address}:15020/healthz/ready`, said);
      await controlPlane.settled();
      const caller = startCaller(path);
      closers.unshift(caller.stop);
      return { address, caller, scrape: async () => (await fetch(`http://${address}:15020/stats/prometheus`)).text() };
    },
    async close() {
      for (const close of closers) await close();
      await controlPlane.close();
      await network.remove();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function serve(controlPlane: ControlPlane, authority: CertificateAuthority, host: string) {
  const certificates = createCertificateService({
    acceptsPeer: () => true,
    signer: createOwnSigner(authority),
    authenticate: async (token) => ({ identity: identityOf(token) }),
    stillThere: async () => true,
    rateLimit: { take: () => true },
    metrics: { count: () => {} },
    log: silentLogger,
  });
  const proven = (call: Call): Identity => {
    const token = /^Bearer (\S+)$/.exec(call.metadata("authorization") ?? "")?.[1];
    if (token === undefined) throw new RpcError(status.unauthenticated, "no token");
    return identityOf(token);
  };
  const routes: readonly Route[] = [
    certificates,
    ...controlPlane.ads.routes((call) => ({ identity: proven(call) })),
    ...controlPlane.traffic.routes(proven),
  ];
  const serving = await authority.issueServing({ dns: [], addresses: [host] });
  const server = createRpcServer({ routes, tls: { ...serving, clientCa: authority.roots() }, log: silentLogger });
  const { port } = await server.listen({ host, port: 0 });
  return { port, close: () => server.close() };
}

function agentEnv(name: string, address: string, discoveryAddress: string): Readonly<Record<string, string>> {
  const proxyConfig = {
    binaryPath: findEnvoy(),
    discoveryAddress,
    terminationDrainDuration: "1s",
    concurrency: 1,
  };
  return {
    PROXY_CONFIG: JSON.stringify(proxyConfig),
    POD_NAME: name,
    POD_NAMESPACE: namespace,
    INSTANCE_IP: address,
    SERVICE_ACCOUNT: name,
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ISTIO_META_INTERCEPTION_MODE: "REDIRECT",
    ISTIO_META_WORKLOAD_NAME: name,
    FAIRLEAD_REPORT_INTERVAL: "1s",
  };
}

function writeFiles(home: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
}

function downward(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`)
    .join("");
}

async function untilReady(url: string, said: readonly string[]): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (
    !(await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (Date.now() > deadline)
      throw new Error(`not ready: ${said.filter((line) => !line.includes("NOT ready")).join("\n")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
