/**
 * Objects in; a mesh of gRPC applications without proxies out. Real: the control plane from objects to ADS, the CA, the
 * agents with their bootstrap files, sockets and certificate files, and gRPC's own xDS client. The API is objects in memory.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent } from "../../src/agent/agent.ts";
import { agentOptionsFromEnv, readAgentMachine } from "../../src/agent/index.ts";
import { eventually, freePorts, httpStatus } from "../../src/agent/testing.ts";
import {
  createCertificateAuthority,
  createCertificateService,
  createOwnSigner,
  createSelfSignedBundle,
} from "../../src/ca/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import type { Identity, KubeObject } from "../../src/model/index.ts";
import { createRpcServer } from "../../src/rpc/index.ts";
import { type ControlPlane, createControlPlane } from "../traffic/control-plane.ts";
import type { Order, Outcome } from "./app-process.ts";

export interface GrpcApp {
  readonly folder: string;
  /** Of a client: what comes of one call. */
  call(method: string, headers?: Readonly<Record<string, string>>): Promise<Outcome>;
  /** Resolves with the first message of the process that is as wanted, one that has come already included. */
  told(wanted: (message: Readonly<Record<string, unknown>>) => boolean): Promise<Readonly<Record<string, unknown>>>;
}

export interface GrpcMesh {
  readonly controlPlane: ControlPlane;
  /** An agent without Envoy, and beside it the application with these words. */
  start(
    account: string,
    address: string,
    labels: Readonly<Record<string, string>>,
    words: readonly string[],
  ): Promise<GrpcApp>;
  /** An application with the bootstrap file of another. */
  beside(app: GrpcApp, words: readonly string[]): GrpcApp;
  close(): Promise<void>;
}

export const namespace = "shop";

export async function startGrpcMesh(objects: readonly KubeObject[]): Promise<GrpcMesh> {
  const root = mkdtempSync(join(tmpdir(), "fl-grpc-"));
  const authority = createCertificateAuthority({
    bundle: await createSelfSignedBundle({ organization: "cluster.local", now: new Date() }),
    now: () => new Date(),
  });
  const controlPlane = createControlPlane(objects);
  const port = await serveControlPlane(controlPlane, authority);
  const stop = new AbortController();
  const running: Promise<unknown>[] = [];
  const apps: ChildProcess[] = [];

  const startApp = (folder: string, words: readonly string[]): GrpcApp => {
    const child = fork(join(import.meta.dirname, "app-process.ts"), words, {
      env: { ...process.env, GRPC_XDS_BOOTSTRAP: join(folder, bootstrapFile), GRPC_XDS_EXPERIMENTAL_RBAC: "true" },
      execArgv: ["--no-warnings"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    apps.push(child);
    return appOf(child, folder);
  };

  return {
    controlPlane,
    async start(account, address, labels, words) {
      const folder = join(root, `${account}-${apps.length}`);
      const status = await startAgent(folder, { account, address, labels, discovery: port.number });
      await eventually(
        () => httpStatus(status, "/healthz/ready"),
        (answer) => answer.status === 200,
      );
      return startApp(folder, words);
    },
    beside: ({ folder }, words) => startApp(folder, words),
    async close() {
      const gone = apps.map((app) => new Promise((done) => (app.exitCode === null ? app.once("exit", done) : done(0))));
      for (const app of apps) app.kill("SIGKILL");
      await Promise.all(gone);
      stop.abort();
      await Promise.all(running);
      await port.close();
      controlPlane.close();
      rmSync(root, { recursive: true, force: true });
    },
  };

  async function startAgent(folder: string, pod: AgentPod): Promise<number> {
    const [statusPort = 0] = await freePorts(1);
    for (const [path, text] of [
      ["var/run/secrets/tokens/istio-token", `token.${pod.account}.x`],
      ["var/run/secrets/istio/root-cert.pem", authority.roots()],
      ["etc/istio/pod/labels", labelLines(pod.labels)],
    ] as const) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const env = agentEnvironment(pod, statusPort);
    const options = agentOptionsFromEnv(env, ["sidecar"], readAgentMachine(folder, silentLogger));
    running.push(createAgent(options).run(stop.signal));
    return statusPort;
  }
}

interface AgentPod {
  readonly account: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly discovery: number;
}

const bootstrapFile = "etc/istio/proxy/grpc-bootstrap.json";

const labelLines = (labels: AgentPod["labels"]): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`)
    .join("");

/** What the template `grpc-agent` gives the agent's container. */
function agentEnvironment({ account, address, discovery }: AgentPod, statusPort: number): Record<string, string> {
  return {
    PROXY_CONFIG: JSON.stringify({ discoveryAddress: `127.0.0.1:${discovery}`, statusPort }),
    ISTIO_META_GENERATOR: "grpc",
    OUTPUT_CERTS: "var/lib/istio/data",
    DISABLE_ENVOY: "true",
    ISTIO_META_DNS_CAPTURE: "false",
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    POD_NAME: account,
    POD_NAMESPACE: namespace,
    SERVICE_ACCOUNT: account,
    INSTANCE_IP: address,
  };
}

/** Who has a token is who it says: tokens here are names between dots. */
async function serveControlPlane(
  controlPlane: ControlPlane,
  authority: ReturnType<typeof createCertificateAuthority>,
): Promise<{ readonly number: number; close(): Promise<void> }> {
  const identityOf = (token: string): Identity => ({
    trustDomain: "cluster.local",
    namespace,
    serviceAccount: token.split(".")[1] ?? "",
  });
  const ca = createCertificateService({
    acceptsPeer: () => true,
    signer: createOwnSigner(authority),
    authenticate: async (token) => ({ identity: identityOf(token) }),
    stillThere: async () => true,
    rateLimit: { take: () => true },
    metrics: { count: () => {} },
    log: silentLogger,
  });
  const ads = controlPlane.ads.routes((call) =>
    identityOf((call.metadata("authorization") ?? "").replace(/^Bearer /, "")),
  );
  const serving = await authority.issueServing({ dns: ["istiod.istio-system.svc"], addresses: ["127.0.0.1"] });
  const tls = { ...serving, clientCa: authority.roots() };
  const server = createRpcServer({ routes: [ca, ...ads], tls, log: silentLogger });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  return { number: port, close: () => server.close() };
}

function appOf(child: ChildProcess, folder: string): GrpcApp {
  const messages: Readonly<Record<string, unknown>>[] = [];
  const waiting = new Set<() => void>();
  child.on("message", (message: Readonly<Record<string, unknown>>) => {
    messages.push(message);
    for (const look of waiting) look();
  });
  const told: GrpcApp["told"] = (wanted) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = messages.find(wanted);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  let last = 0;
  return {
    folder,
    told,
    async call(method, headers = {}) {
      const id = ++last;
      child.send({ id, method, headers, timeoutMs: 20_000 } satisfies Order);
      return (await told((message) => message.id === id)) as unknown as Outcome;
    },
  };
}
