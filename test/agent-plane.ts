/** Objects in; a control plane from objects to ADS with a CA, as agents see it behind TLS, and agents that join it, out. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAgent } from "../src/agent/agent.ts";
import { type AgentOptions, agentOptionsFromEnv, readAgentMachine } from "../src/agent/index.ts";
import {
  createCertificateAuthority,
  createCertificateService,
  createOwnSigner,
  createSelfSignedBundle,
} from "../src/ca/index.ts";
import { silentLogger } from "../src/lib/index.ts";
import type { Identity, KubeObject } from "../src/model/index.ts";
import { createRpcServer } from "../src/rpc/index.ts";
import { freePorts } from "./free-ports.ts";
import { type ControlPlane, createControlPlane } from "./traffic/control-plane.ts";

export interface AgentPod {
  /** Of the Pod too. */
  readonly account: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly type: "sidecar" | "router";
  readonly env: Readonly<Record<string, string>>;
}

export interface AgentPlane {
  readonly controlPlane: ControlPlane;
  /** Runs until the plane is closed; returns its status port. */
  startAgent(folder: string, pod: AgentPod, changes?: Partial<AgentOptions>): Promise<number>;
  close(): Promise<void>;
}

export async function startAgentPlane(objects: readonly KubeObject[], namespace: string): Promise<AgentPlane> {
  const authority = createCertificateAuthority({
    bundle: await createSelfSignedBundle({ organization: "cluster.local", now: new Date() }),
    now: () => new Date(),
  });
  const controlPlane = createControlPlane(objects);
  // Who has a token is who it says: tokens here are names between dots.
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
  const ads = controlPlane.ads.routes((call) => ({
    identity: identityOf((call.metadata("authorization") ?? "").replace(/^Bearer /, "")),
  }));
  const serving = await authority.issueServing({ dns: ["istiod.istio-system.svc"], addresses: ["127.0.0.1"] });
  const server = createRpcServer({
    routes: [ca, ...ads],
    tls: { ...serving, clientCa: authority.roots() },
    log: silentLogger,
  });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const stop = new AbortController();
  const running: Promise<unknown>[] = [];
  return {
    controlPlane,
    async startAgent(folder, pod, changes = {}) {
      const [status = 0, admin = 0, ready = 0, stats = 0] = await freePorts(4);
      for (const [path, text] of [
        ["var/run/secrets/tokens/istio-token", `token.${pod.account}.x`],
        ["var/run/secrets/istio/root-cert.pem", authority.roots()],
        ["etc/istio/pod/labels", labelLines(pod.labels)],
      ] as const) {
        mkdirSync(join(folder, path, ".."), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      const proxyConfig = { discoveryAddress: `127.0.0.1:${port}`, statusPort: status, proxyAdminPort: admin };
      const env = {
        PROXY_CONFIG: JSON.stringify({ ...proxyConfig, concurrency: 1, terminationDrainDuration: "1s" }),
        ISTIO_META_CLUSTER_ID: "Kubernetes",
        POD_NAME: pod.account,
        POD_NAMESPACE: namespace,
        SERVICE_ACCOUNT: pod.account,
        INSTANCE_IP: pod.address,
        ENVOY_STATUS_PORT: String(ready),
        ENVOY_PROMETHEUS_PORT: String(stats),
        ...pod.env,
      };
      const options = agentOptionsFromEnv(env, [pod.type], readAgentMachine(folder, silentLogger));
      running.push(createAgent({ ...options, ...changes }).run(stop.signal));
      return status;
    },
    async close() {
      stop.abort();
      await Promise.all(running);
      await server.close();
      await controlPlane.close();
    },
  };
}

const labelLines = (labels: AgentPod["labels"]): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`)
    .join("");
