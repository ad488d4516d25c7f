/** For tests: an agent with a real Envoy, in a folder and on ports of its own (or in a Pod's namespace), before a control plane that the test plays. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { freePorts } from "../../test/free-ports.ts";
import { findEnvoy } from "../../test/require.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  createCertificateService,
  createOwnSigner,
  createSelfSignedBundle,
} from "../ca/index.ts";
import { ListenerSchema } from "../gen/envoy/config/listener/v3/listener_pb.js";
import { TcpProxySchema } from "../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js";
import { DownstreamTlsContextSchema } from "../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { AggregatedDiscoveryService } from "../gen/envoy/service/discovery/v3/ads_pb.js";
import { DeltaDiscoveryResponseSchema, ResourceSchema } from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { createLogger, silentLogger } from "../lib/index.ts";
import { types } from "../model/index.ts";
import { bidi, createRpcServer, protoMethod, RpcError, type RpcServer, status } from "../rpc/index.ts";
import { createAgent } from "./agent.ts";
import { readAgentMachine } from "./agent-machine.ts";
import type { AgentOptions } from "./agent-options.ts";
import { agentOptionsFromEnv } from "./agent-options-from-env.ts";
import { livingEnvoy } from "./envoy/record.ts";

/** What the played control plane sends, by type URL. */
export type Sent = ReadonlyMap<string, readonly Uint8Array[]>;

export interface AgentHarness {
  readonly workDir: string;
  readonly authority: CertificateAuthority;
  readonly ports: Readonly<Record<PortName, number>>;
  /** Lines of the agent and of Envoy. */
  readonly log: readonly string[];
  send(resources: Sent): void;
  start(env?: Readonly<Record<string, string>>, changes?: Partial<AgentOptions>): Promise<number>;
  /** The same as a process of its own, that can be killed. */
  spawn(env?: Readonly<Record<string, string>>): ChildProcess;
  stop(): void;
  untilReady(): Promise<void>;
  closeControlPlane(): Promise<void>;
  openControlPlane(): Promise<void>;
  close(): Promise<void>;
}

type PortName = "discovery" | "admin" | "status" | "ready" | "stats" | "listener";

export const token = "a.b.c";

export interface AgentPlace {
  readonly planeAddress: string;
  /** How agents call it. */
  readonly planeName: string;
  readonly podAddress: string;
  /** Comes before the command of an agent that is a process of its own. */
  readonly enter: readonly string[];
}

const thisMachine: AgentPlace = {
  planeAddress: "127.0.0.1",
  planeName: "127.0.0.1",
  podAddress: "127.0.0.1",
  enter: [],
};

export async function createAgentHarness(place: AgentPlace = thisMachine): Promise<AgentHarness> {
  const workDir = mkdtempSync(join(tmpdir(), "fl-"));
  const [discovery = 0, admin = 0, status = 0, ready = 0, stats = 0, listener = 0] = await freePorts(6);
  const ports = { discovery, admin, status, ready, stats, listener };
  const authority = createCertificateAuthority({
    bundle: await createSelfSignedBundle({ organization: "cluster.local", now: new Date() }),
    now: () => new Date(),
  });
  let sent: Sent = new Map();
  let server: RpcServer | undefined;
  const openControlPlane = async (): Promise<void> => {
    server = await startControlPlane(authority, { host: place.planeAddress, port: discovery }, () => sent);
  };
  await openControlPlane();
  for (const [path, text] of [
    ["var/run/secrets/tokens/istio-token", `${token}\n`],
    ["var/run/secrets/istio/root-cert.pem", authority.roots()],
  ] as const) {
    mkdirSync(join(workDir, path, ".."), { recursive: true });
    writeFileSync(join(workDir, path), text);
  }
  const stop = new AbortController();
  const lines: string[] = [];
  const children: ChildProcess[] = [];
  let running: Promise<number> | undefined;
  return {
    workDir,
    authority,
    ports,
    log: lines,
    send: (resources) => {
      sent = resources;
    },
    start(env = {}, changes = {}) {
      const log = createLogger({ write: (line) => lines.push(line), now: () => new Date() });
      const machine = readAgentMachine(workDir, log);
      const options = agentOptionsFromEnv({ ...environment(ports, place), ...env }, agentArguments, machine);
      const writeEnvoyLine = (line: string): void => void lines.push(line);
      running = createAgent({ ...options, writeEnvoyLine, ...changes }).run(stop.signal);
      return running;
    },
    spawn(env = {}) {
      const bundle = join(import.meta.dirname, "../../dist/main.js");
      const [file = "", ...args] = [...place.enter, process.execPath, bundle, "agent", "proxy", ...agentArguments];
      const child = spawn(file, args, {
        cwd: workDir,
        env: { PATH: process.env.PATH, ...environment(ports, place), ...env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => lines.push(chunk));
      children.push(child);
      return child;
    },
    stop: () => stop.abort(),
    untilReady: async () => {
      await eventually(
        () => httpStatus(status, "/healthz/ready", "GET", place.podAddress),
        (answer) => answer.status === 200,
      );
    },
    closeControlPlane: async () => server?.close(),
    openControlPlane,
    async close() {
      stop.abort();
      await running;
      await Promise.all(children.map(endChild));
      // Of one that was killed and had no successor.
      const left = livingEnvoy(workDir);
      if (left) process.kill(left.process.pid, "SIGKILL");
      await server?.close();
      rmSync(workDir, { recursive: true });
    },
  };
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

const agentArguments = ["sidecar", "--proxyLogLevel=warning"];

function environment(ports: AgentHarness["ports"], place: AgentPlace): Readonly<Record<string, string>> {
  const proxyConfig = {
    binaryPath: findEnvoy(),
    discoveryAddress: `${place.planeName}:${ports.discovery}`,
    proxyAdminPort: ports.admin,
    statusPort: ports.status,
    terminationDrainDuration: "1s",
    concurrency: 1,
  };
  return {
    PROXY_CONFIG: JSON.stringify(proxyConfig),
    POD_NAME: "p",
    POD_NAMESPACE: "ns",
    SERVICE_ACCOUNT: "sa",
    INSTANCE_IP: place.podAddress,
    ENVOY_STATUS_PORT: String(ports.ready),
    ENVOY_PROMETHEUS_PORT: String(ports.stats),
  };
}

/** A control plane as a sidecar sees it: CA and delta ADS behind TLS. */
async function startControlPlane(
  authority: CertificateAuthority,
  at: { readonly host: string; readonly port: number },
  sent: () => Sent,
): Promise<RpcServer> {
  const ca = createCertificateService({
    acceptsPeer: () => true,
    signer: createOwnSigner(authority),
    authenticate: async (bearer) =>
      bearer === token
        ? { identity: { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "sa" } }
        : undefined,
    stillThere: async () => true,
    rateLimit: { take: () => true },
    metrics: { count: () => {} },
    log: silentLogger,
  });
  const ads = bidi(
    protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources),
    async (requests, call, send) => {
      if (call.metadata("authorization") !== `Bearer ${token}` && call.peer.tls?.verified !== true)
        throw new RpcError(status.unauthenticated, "another token");
      for await (const { typeUrl, responseNonce } of requests) {
        if (responseNonce !== "") continue;
        const resources = (sent().get(typeUrl) ?? []).map((value, i) =>
          create(ResourceSchema, { name: `r${i}`, version: "1", resource: create(AnySchema, { typeUrl, value }) }),
        );
        await send(create(DeltaDiscoveryResponseSchema, { typeUrl, resources, nonce: "1" }));
      }
    },
  );
  const serving = await authority.issueServing({ dns: ["istiod.istio-system.svc"], addresses: ["127.0.0.1"] });
  const tls = { ...serving, clientCa: authority.roots() };
  const server = createRpcServer({ routes: [ca, ads], tls, log: silentLogger });
  await server.listen(at);
  return server;
}

/** Status 0 where nobody answers. */
export function httpStatus(
  port: number,
  path: string,
  method = "GET",
  host = "127.0.0.1",
): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const outgoing = request({ host, port, path, method }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    outgoing.on("error", (error) => resolve({ status: 0, body: error.message }));
    outgoing.end();
  });
}

/** Asks until the answer is as wanted; the test's own time limit ends it. */
export async function eventually<T>(ask: () => Promise<T>, good: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (good(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A TCP listener with the workload's own certificate from SDS, that asks its client for one of the mesh. */
export function tlsListener(port: number, shown = { secret: "default", cluster: "sds-grpc" }): Sent {
  const sds = (name: string, clusterName = "sds-grpc") => ({
    name,
    sdsConfig: {
      configSourceSpecifier: {
        case: "apiConfigSource" as const,
        value: {
          apiType: 2,
          transportApiVersion: 2,
          setNodeOnFirstMessageOnly: true,
          grpcServices: [{ targetSpecifier: { case: "envoyGrpc" as const, value: { clusterName } } }],
        },
      },
      resourceApiVersion: 2,
    },
  });
  const tls = create(DownstreamTlsContextSchema, {
    requireClientCertificate: true,
    commonTlsContext: {
      tlsCertificateSdsSecretConfigs: [sds(shown.secret, shown.cluster)],
      validationContextType: { case: "validationContextSdsSecretConfig", value: sds("ROOTCA") },
    },
  });
  const listener = create(ListenerSchema, {
    name: "tls",
    address: {
      address: {
        case: "socketAddress",
        value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } },
      },
    },
    filterChains: [
      {
        transportSocket: {
          name: "envoy.transport_sockets.tls",
          configType: { case: "typedConfig", value: anyPack(DownstreamTlsContextSchema, tls) },
        },
        filters: [
          {
            name: "envoy.filters.network.tcp_proxy",
            configType: {
              case: "typedConfig",
              value: anyPack(
                TcpProxySchema,
                create(TcpProxySchema, { statPrefix: "tls", clusterSpecifier: { case: "cluster", value: "agent" } }),
              ),
            },
          },
        ],
      },
    ],
  });
  return new Map([[types.listener, [toBinary(ListenerSchema, listener)]]]);
}
