import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { create } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findEnvoy, lacks } from "../../test/require.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  createCertificateService,
  createSelfSignedBundle,
} from "../ca/index.ts";
import { AggregatedDiscoveryService } from "../gen/envoy/service/discovery/v3/ads_pb.js";
import { DeltaDiscoveryResponseSchema, ResourceSchema } from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { createLogger, silentLogger } from "../lib/index.ts";
import { types } from "../model/index.ts";
import { createCsr, formatPrivateKey, generateKey, parseCertificate, uriNames } from "../pki/index.ts";
import { bidi, createRpcServer, protoMethod, type RpcServer } from "../rpc/index.ts";
import { createAgent } from "./agent.ts";
import { type AgentOptions, readAgentMachine } from "./agent-options.ts";
import { agentOptionsFromEnv } from "./agent-options-from-env.ts";

const token = "a.b.c";

/** A control plane as a sidecar sees it: CA and delta ADS behind TLS. The one listener it sends shows the workload's certificate. */
async function startControlPlane(
  authority: CertificateAuthority,
  port: number,
  listener: () => Uint8Array,
): Promise<RpcServer> {
  const ca = createCertificateService({
    authority,
    authenticate: async (bearer) =>
      bearer === token ? { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "sa" } : undefined,
    rateLimit: { take: () => true },
    metrics: { count: () => {} },
    log: silentLogger,
  });
  const ads = bidi(
    protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources),
    async (requests, call, send) => {
      expect(call.metadata("authorization")).toBe(`Bearer ${token}`);
      for await (const { typeUrl, responseNonce } of requests) {
        if (responseNonce !== "") continue;
        const value = listener();
        const resources =
          typeUrl === types.listener
            ? [create(ResourceSchema, { name: "tls", version: "1", resource: create(AnySchema, { typeUrl, value }) })]
            : [];
        await send(create(DeltaDiscoveryResponseSchema, { typeUrl, resources, nonce: "1" }));
      }
    },
  );
  const serving = await authority.issueServing({ dns: ["istiod.istio-system.svc"], addresses: ["127.0.0.1"] });
  const server = createRpcServer({
    routes: [ca, ads],
    tls: { ...serving, clientCa: authority.roots() },
    log: silentLogger,
  });
  await server.listen({ host: "127.0.0.1", port });
  return server;
}

function freePorts(count: number): Promise<readonly number[]> {
  const open = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  return Promise.all(
    open.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.once("listening", () => {
            const bound = server.address();
            server.close(() => resolve(typeof bound === "object" && bound ? bound.port : 0));
          });
        }),
    ),
  );
}

/** A TCP listener with the workload's own certificate from SDS, that asks its client for one of the mesh. */
async function tlsListener(port: number): Promise<Uint8Array> {
  const { create: make, toBinary } = await import("@bufbuild/protobuf");
  const { anyPack } = await import("@bufbuild/protobuf/wkt");
  const { ListenerSchema } = await import("../gen/envoy/config/listener/v3/listener_pb.js");
  const { DownstreamTlsContextSchema } = await import("../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js");
  const { TcpProxySchema } = await import("../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js");
  const sds = (name: string) => ({
    name,
    sdsConfig: {
      configSourceSpecifier: {
        case: "apiConfigSource" as const,
        value: {
          apiType: 2,
          transportApiVersion: 2,
          setNodeOnFirstMessageOnly: true,
          grpcServices: [{ targetSpecifier: { case: "envoyGrpc" as const, value: { clusterName: "sds-grpc" } } }],
        },
      },
      resourceApiVersion: 2,
    },
  });
  const tls = make(DownstreamTlsContextSchema, {
    requireClientCertificate: true,
    commonTlsContext: {
      tlsCertificateSdsSecretConfigs: [sds("default")],
      validationContextType: { case: "validationContextSdsSecretConfig", value: sds("ROOTCA") },
    },
  });
  const listener = make(ListenerSchema, {
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
                make(TcpProxySchema, { statPrefix: "tls", clusterSpecifier: { case: "cluster", value: "agent" } }),
              ),
            },
          },
        ],
      },
    ],
  });
  return toBinary(ListenerSchema, listener);
}

function httpStatus(port: number, path: string, method = "GET"): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const outgoing = request({ host: "127.0.0.1", port, path, method }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    outgoing.on("error", (error) => resolve({ status: 0, body: error.message }));
    outgoing.end();
  });
}

/** Asks until the answer is as wanted; the test's own time limit ends it. */
async function eventually<T>(ask: () => Promise<T>, good: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (good(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe.skipIf(lacks("envoy"))("the agent with a real Envoy", () => {
  let workDir: string;
  let authority: CertificateAuthority;
  let server: RpcServer | undefined;
  let discovery: number, admin: number, status: number, ready: number, stats: number, tls: number;
  let listener: Uint8Array;
  let stop: AbortController;
  let running: Promise<number> | undefined;
  let envoyLog: string[];

  beforeEach(async () => {
    workDir = mkdtempSync(join(tmpdir(), "fl-"));
    [discovery = 0, admin = 0, status = 0, ready = 0, stats = 0, tls = 0] = await freePorts(6);
    authority = createCertificateAuthority({
      bundle: await createSelfSignedBundle({ organization: "cluster.local", now: new Date() }),
      now: () => new Date(),
    });
    listener = await tlsListener(tls);
    server = await startControlPlane(authority, discovery, () => listener);
    for (const [path, text] of [
      ["var/run/secrets/tokens/istio-token", `${token}\n`],
      ["var/run/secrets/istio/root-cert.pem", authority.roots()],
    ] as const) {
      mkdirSync(join(workDir, path, ".."), { recursive: true });
      writeFileSync(join(workDir, path), text);
    }
    stop = new AbortController();
    envoyLog = [];
  });
  afterEach(async () => {
    stop.abort();
    await running;
    running = undefined;
    await server?.close();
    rmSync(workDir, { recursive: true });
  });

  function start(env: Readonly<Record<string, string>> = {}, changes: Partial<AgentOptions> = {}): Promise<number> {
    const proxyConfig = {
      binaryPath: findEnvoy(),
      discoveryAddress: `127.0.0.1:${discovery}`,
      proxyAdminPort: admin,
      statusPort: status,
      terminationDrainDuration: "1s",
      concurrency: 1,
    };
    const all = {
      PROXY_CONFIG: JSON.stringify(proxyConfig),
      POD_NAME: "p",
      POD_NAMESPACE: "ns",
      SERVICE_ACCOUNT: "sa",
      INSTANCE_IP: "127.0.0.1",
      ENVOY_STATUS_PORT: String(ready),
      ENVOY_PROMETHEUS_PORT: String(stats),
      ...env,
    };
    const log = createLogger({ write: (line) => envoyLog.push(line), now: () => new Date() });
    const options = agentOptionsFromEnv(all, ["sidecar", "--proxyLogLevel=warning"], readAgentMachine(workDir, log));
    running = createAgent({ ...options, writeEnvoyLine: (line) => envoyLog.push(line), ...changes }).run(stop.signal);
    return running;
  }
  const untilReady = async (): Promise<void> => {
    await eventually(
      () => httpStatus(status, "/healthz/ready"),
      (answer) => answer.status === 200,
    );
  };

  /** The certificate that the sidecar shows, to a client of the mesh. */
  async function shown(): Promise<{ serial: string; uris: readonly string[] } | undefined> {
    const key = await generateKey();
    const { chain } = authority.sign(
      createCsr({ key }),
      { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "client" },
      0,
    );
    return new Promise((resolve) => {
      const socket = connectTls({
        host: "127.0.0.1",
        port: tls,
        cert: chain.join(""),
        key: formatPrivateKey(key.privateKey),
        ca: authority.roots(),
        checkServerIdentity: () => undefined,
      });
      socket.once("secureConnect", () => {
        const peer = socket.getPeerX509Certificate();
        socket.destroy();
        resolve(peer && { serial: peer.serialNumber, uris: uriNames(parseCertificate(peer.toString())) });
      });
      socket.once("error", () => resolve(undefined));
    });
  }

  test("Envoy gets its certificate and configuration, is ready, and its metrics are merged", async () => {
    start();
    await untilReady();
    expect(await eventually(shown, (peer) => peer !== undefined)).toMatchObject({
      uris: ["spiffe://cluster.local/ns/ns/sa/sa"],
    });
    // The readiness port of Envoy leads to the agent.
    expect((await httpStatus(ready, "/healthz/ready")).status).toBe(200);
    const metrics = await httpStatus(status, "/stats/prometheus");
    expect(metrics.body).toContain("istio_agent_cert_expiry_seconds");
    expect(metrics.body).toContain("envoy_server_state");
    for (const socket of [
      "var/run/secrets/workload-spiffe-uds/socket",
      "etc/istio/proxy/XDS",
      "etc/istio/proxy/envoy-rev.json",
    ])
      expect(statSync(join(workDir, socket)).mode & 0o777).toBe(0o600);
    expect(envoyLog.join("\n")).not.toContain("PRIVATE KEY");
  }, 30_000);

  test("the certificate is renewed while Envoy runs, and Envoy shows the new one", async () => {
    start({ SECRET_TTL: "3s" });
    await untilReady();
    const first = await eventually(shown, (peer) => peer !== undefined);
    const second = await eventually(shown, (peer) => peer !== undefined && peer.serial !== first?.serial);
    expect(second?.uris).toEqual(first?.uris);
  }, 30_000);

  test("while the control plane is away Envoy serves on; when it is back, changes come through", async () => {
    start();
    await untilReady();
    await eventually(shown, (peer) => peer !== undefined);
    await server?.close();
    expect(await shown()).toBeDefined();
    expect((await httpStatus(status, "/healthz/ready")).status).toBe(200);
    const [moved = 0] = await freePorts(1);
    tls = moved;
    listener = await tlsListener(moved);
    server = await startControlPlane(authority, discovery, () => listener);
    expect(await eventually(shown, (peer) => peer !== undefined)).toBeDefined();
  }, 60_000);

  test("R10: until the CA answers nothing is served without a certificate", async () => {
    writeFileSync(join(workDir, "var/run/secrets/tokens/istio-token"), "not.the.token");
    start();
    await eventually(
      () => httpStatus(admin, "/ready"),
      (answer) => answer.status !== 0,
    );
    expect(await shown()).toBeUndefined();
    writeFileSync(join(workDir, "var/run/secrets/tokens/istio-token"), token);
    expect(await eventually(shown, (peer) => peer !== undefined)).toBeDefined();
  }, 30_000);

  test("told to end, it drains, ends Envoy and exits 0", async () => {
    const done = start();
    await untilReady();
    const began = performance.now();
    stop.abort();
    expect(await done).toBe(0);
    expect(performance.now() - began).toBeGreaterThan(900);
    expect((await httpStatus(admin, "/ready")).status).toBe(0);
  }, 30_000);

  test("/quitquitquit from the own machine ends it at once; other methods do not", async () => {
    const done = start();
    await untilReady();
    expect((await httpStatus(status, "/quitquitquit")).status).toBe(405);
    expect((await httpStatus(status, "/quitquitquit", "POST")).status).toBe(200);
    expect(await done).toBe(0);
    expect((await httpStatus(admin, "/ready")).status).toBe(0);
  }, 30_000);

  test("D07: when Envoy dies the agent exits with it, or starts another where it is told to", async () => {
    const kill = async (): Promise<void> => {
      await httpStatus(admin, "/quitquitquit", "POST");
    };
    const done = start();
    await untilReady();
    await kill();
    expect(await done).toBe(0);
    start({}, { onEnvoyExit: "restart" });
    await untilReady();
    await kill();
    await eventually(
      () => httpStatus(admin, "/ready"),
      (answer) => answer.status === 0,
    );
    await untilReady();
  }, 60_000);
});

test("app probes are passed on to the application", async () => {
  const { parseAppProbes, runAppProbe } = await import("./app-probe.ts");
  const http = await import("node:http");
  const app = http.createServer((incoming, response) => {
    response.statusCode = incoming.url === "/ok" && incoming.headers["x-a"] === "b" ? 200 : 503;
    response.end();
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  const bound = app.address();
  const port = typeof bound === "object" && bound ? bound.port : 0;
  const probes = parseAppProbes(
    JSON.stringify({
      "/app-health/c/readyz": { httpGet: { path: "ok", port, httpHeaders: [{ name: "x-a", value: "b" }] } },
      "/app-health/c/livez": { httpGet: { path: "/bad", port } },
      "/app-health/c/startupz": { tcpSocket: { port } },
      "/app-health/d/livez": { tcpSocket: { port: 1 } },
    }),
  );
  const run = (path: string): Promise<number> => runAppProbe(probes.get(path) ?? { timeoutMs: 1 }, "127.0.0.1");
  expect(await run("/app-health/c/readyz")).toBe(200);
  expect(await run("/app-health/c/livez")).toBe(503);
  expect(await run("/app-health/c/startupz")).toBe(200);
  expect(await run("/app-health/d/livez")).toBe(500);
  app.close();
  expect(() => parseAppProbes('{"/etc/passwd":{}}')).toThrow("no probe path");
});
