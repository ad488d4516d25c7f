import { createPublicKey } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../test/free-ports.ts";
import { lacks } from "../../test/require.ts";
import { Cluster_DiscoveryType, ClusterSchema } from "../gen/envoy/config/cluster/v3/cluster_pb.js";
import { NameTableSchema } from "../gen/istio/nds_pb.js";
import { createOverload, silentLogger } from "../lib/index.ts";
import { types } from "../model/index.ts";
import { createCsr, formatPrivateKey, generateKey, parseCertificate, uriNames } from "../pki/index.ts";
import { createRpcServer } from "../rpc/index.ts";
import { livingEnvoy } from "./envoy/record.ts";
import type { WorkloadCredentials } from "./identity/credentials.ts";
import { createSdsRoutes } from "./identity/sds.ts";
import { createSecretSource, type SecretSource } from "./identity/secrets.ts";
import type { WorkloadIdentity } from "./identity/workload-identity.ts";
import { type AgentHarness, createAgentHarness, eventually, httpStatus, tlsListener, token } from "./testing.ts";

/** A process that hands out identities on the known socket, as SPIRE's agent does with Istio's names. */
async function serveForeignIdentity({ authority, workDir }: AgentHarness) {
  const fetch = async (): Promise<WorkloadCredentials> => {
    const key = await generateKey();
    const caller = { trustDomain: "cluster.local", namespace: "spire", serviceAccount: "web" };
    const { chain } = authority.sign(createCsr({ key }), caller, 0);
    const notAfter = new Date(Date.now() + 60_000);
    return { chain: chain.join(""), key: formatPrivateKey(key.privateKey), roots: authority.roots(), notAfter };
  };
  let current = await fetch();
  const listeners = new Set<(credentials: WorkloadCredentials) => void>();
  const identity: WorkloadIdentity = {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    renewSoon: () => {},
    run: () => Promise.resolve(),
  };
  const source = createSecretSource({ identity, extraRoots: () => "", log: silentLogger });
  const server = createRpcServer({ routes: createSdsRoutes(source, silentLogger), log: silentLogger });
  const folder = join(workDir, "var/run/secrets/workload-spiffe-uds");
  mkdirSync(folder, { recursive: true });
  await server.listen({ path: join(folder, "socket") });
  return {
    close: () => server.close(),
    async rotate() {
      current = await fetch();
      for (const listener of listeners) listener(current);
    },
  };
}

const credentialCluster = create(ClusterSchema, {
  name: "sds-external",
  clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
  http2ProtocolOptions: {},
  loadAssignment: {
    clusterName: "sds-external",
    endpoints: [
      {
        lbEndpoints: [
          {
            hostIdentifier: {
              case: "endpoint",
              value: {
                address: { address: { case: "pipe", value: { path: "./var/run/secrets/credential-uds/socket" } } },
              },
            },
          },
        ],
      },
    ],
  },
});

describe.skipIf(lacks("envoy"))("the agent with a real Envoy", () => {
  let harness: AgentHarness;
  let tls: number;
  beforeEach(async () => {
    harness = await createAgentHarness();
    tls = harness.ports.listener;
    harness.send(tlsListener(tls));
  });
  afterEach(() => harness.close());
  const untilReady = (): Promise<void> => harness.untilReady();
  const start: AgentHarness["start"] = (...args) => harness.start(...args);

  /** The certificate that the sidecar shows, to a client of the mesh. */
  async function shown(): Promise<{ serial: string; uris: readonly string[] } | undefined> {
    const key = await generateKey();
    const { chain } = harness.authority.sign(
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
        ca: harness.authority.roots(),
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
    expect((await httpStatus(harness.ports.ready, "/healthz/ready")).status).toBe(200);
    const metrics = await httpStatus(harness.ports.status, "/stats/prometheus");
    expect(metrics.body).toContain("istio_agent_cert_expiry_seconds");
    expect(metrics.body).toContain("envoy_server_state");
    const folder = "etc/istio/proxy/sockets";
    const [secret = "", ...others] = readdirSync(join(harness.workDir, folder));
    expect([secret.length, others]).toEqual([16, []]);
    const sockets = readdirSync(join(harness.workDir, folder, secret));
    expect(sockets.sort()).toEqual(["ADMIN", "METRICS", "READY", "SDS", "TELEMETRY", "XDS"]);
    for (const file of [...sockets.map((name) => join(folder, secret, name)), "etc/istio/proxy/envoy-rev.json"])
      expect(statSync(join(harness.workDir, file)).mode & 0o777).toBe(0o600);
    expect(harness.log.join("\n")).not.toContain("PRIVATE KEY");
  }, 300_000);

  test("the certificate is renewed while Envoy runs, and Envoy shows the new one", async () => {
    start({ SECRET_TTL: "3s" });
    await untilReady();
    const first = await eventually(shown, (peer) => peer !== undefined);
    const second = await eventually(shown, (peer) => peer !== undefined && peer.serial !== first?.serial);
    expect(second?.uris).toEqual(first?.uris);
  }, 300_000);

  test("while the control plane is away Envoy serves on; when it is back, changes come through", async () => {
    start();
    await untilReady();
    await eventually(shown, (peer) => peer !== undefined);
    await harness.closeControlPlane();
    expect(await shown()).toBeDefined();
    expect((await httpStatus(harness.ports.status, "/healthz/ready")).status).toBe(200);
    const [moved = 0] = await freePorts(1);
    tls = moved;
    harness.send(tlsListener(moved));
    await harness.openControlPlane();
    expect(await eventually(shown, (peer) => peer !== undefined)).toBeDefined();
  }, 300_000);

  test("R10: until the CA answers nothing is served without a certificate", async () => {
    writeFileSync(join(harness.workDir, "var/run/secrets/tokens/istio-token"), "not.the.token");
    start();
    await eventually(
      () => httpStatus(harness.ports.admin, "/ready"),
      (answer) => answer.status !== 0,
    );
    expect(await shown()).toBeUndefined();
    writeFileSync(join(harness.workDir, "var/run/secrets/tokens/istio-token"), token);
    expect(await eventually(shown, (peer) => peer !== undefined)).toBeDefined();
  }, 300_000);

  test("OUTPUT_CERTS has the certificate in files, and with it alone the next agent of the machine is let in", async () => {
    const folder = join(harness.workDir, "etc/certs");
    const read = (file: string): string => readFileSync(join(folder, file), "utf8");
    const done = start({ OUTPUT_CERTS: "etc/certs" });
    await untilReady();
    const first = await eventually(shown, (peer) => peer !== undefined);
    const names = ["cert-chain.pem", "key.pem", "root-cert.pem"];
    await eventually(
      async () => readdirSync(folder).sort(),
      (found) => found.join() === names.join(),
    );
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    const written = parseCertificate(read("cert-chain.pem"));
    expect(written.serialNumber.toUpperCase()).toBe(first?.serial);
    expect(createPublicKey(read("key.pem")).equals(written.publicKey)).toBe(true);
    expect(read("root-cert.pem")).toBe(harness.authority.roots());
    await httpStatus(harness.ports.status, "/quitquitquit", "POST");
    await done;
    rmSync(join(harness.workDir, "var"), { recursive: true });
    start({ OUTPUT_CERTS: "etc/certs", PROV_CERT: "etc/certs", KUBERNETES_SERVICE_HOST: "10.0.0.1" });
    await untilReady();
    const second = await eventually(shown, (peer) => peer !== undefined && peer.serial !== first?.serial);
    expect(second?.uris).toEqual(["spiffe://cluster.local/ns/ns/sa/sa"]);
    await eventually(
      async () => statSync(join(folder, "key.pem")).mode & 0o777,
      (mode) => mode === 0o644,
    );
  }, 300_000);

  test("an identity socket that another process serves is used, and the CA is not asked", async () => {
    const foreign = await serveForeignIdentity(harness);
    try {
      start();
      await untilReady();
      const uris = ["spiffe://cluster.local/ns/spire/sa/web"];
      expect(await eventually(shown, (peer) => peer !== undefined)).toMatchObject({ uris });
      const first = (await shown())?.serial;
      await foreign.rotate();
      expect(await eventually(shown, (peer) => peer !== undefined && peer.serial !== first)).toMatchObject({ uris });
      expect(harness.log.join("\n")).not.toContain("certificate renewed");
    } finally {
      await foreign.close();
    }
  }, 300_000);

  test("beside such a socket, certificates in files come from the agent", async () => {
    const key = await generateKey();
    const caller = { trustDomain: "cluster.local", namespace: "files", serviceAccount: "web" };
    const { chain } = harness.authority.sign(createCsr({ key }), caller, 0);
    const [cert, keyFile] = ["cert.pem", "key.pem"].map((name) => join(harness.workDir, name));
    writeFileSync(cert ?? "", chain.join(""));
    writeFileSync(keyFile ?? "", formatPrivateKey(key.privateKey), { mode: 0o600 });
    harness.send(tlsListener(tls, { secret: `file-cert:${cert}~${keyFile}`, cluster: "sds-files-grpc" }));
    const foreign = await serveForeignIdentity(harness);
    try {
      start();
      await untilReady();
      expect(await eventually(shown, (peer) => peer !== undefined)).toMatchObject({
        uris: ["spiffe://cluster.local/ns/files/sa/web"],
      });
    } finally {
      await foreign.close();
    }
  }, 300_000);

  test("credentials that another process serves beside it are told of, and Envoy shows them", async () => {
    const key = await generateKey();
    const caller = { trustDomain: "cluster.local", namespace: "credentials", serviceAccount: "shop" };
    const { chain } = harness.authority.sign(createCsr({ key }), caller, 0);
    const content = { type: "certificate", chain: chain.join(""), key: formatPrivateKey(key.privateKey) } as const;
    const source: SecretSource = {
      get: (name) => (name === "sds://shop" ? { name, content, version: "1" } : undefined),
      watch: () => () => {},
    };
    const server = createRpcServer({ routes: createSdsRoutes(source, silentLogger), log: silentLogger });
    const folder = join(harness.workDir, "var/run/secrets/credential-uds");
    mkdirSync(folder, { recursive: true });
    await server.listen({ path: join(folder, "socket") });
    // As the control plane sends them to a proxy that says so.
    const listener = tlsListener(tls, { secret: "sds://shop", cluster: "sds-external" });
    harness.send(new Map([...listener, [types.cluster, [toBinary(ClusterSchema, credentialCluster)]]]));
    try {
      start();
      await untilReady();
      expect(await eventually(shown, (peer) => peer !== undefined)).toMatchObject({
        uris: ["spiffe://cluster.local/ns/credentials/sa/shop"],
      });
      const dump = await fetch(`http://127.0.0.1:${harness.ports.admin}/config_dump?mask=bootstrap`);
      expect(await dump.text()).toContain('"credential": "true"');
    } finally {
      await server.close();
    }
  }, 300_000);

  test("an identity socket of another name has to be there", async () => {
    const child = harness.spawn({ WORKLOAD_IDENTITY_SOCKET_FILE: "spire.sock" });
    const [status] = await once(child, "exit");
    expect(status).not.toBe(0);
    expect(harness.log.join("")).toContain("nobody serves identities on");
  }, 300_000);

  test("a certificate that the platform mounts is shown, and the CA is not asked", async () => {
    const key = await generateKey();
    const caller = { trustDomain: "cluster.local", namespace: "mounted", serviceAccount: "web" };
    const { chain } = harness.authority.sign(createCsr({ key }), caller, 0);
    const folder = join(harness.workDir, "var/run/secrets/workload-spiffe-credentials");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "cert-chain.pem"), chain.join(""));
    writeFileSync(join(folder, "key.pem"), formatPrivateKey(key.privateKey), { mode: 0o600 });
    writeFileSync(join(folder, "root-cert.pem"), harness.authority.roots());
    start();
    await untilReady();
    expect(await eventually(shown, (peer) => peer !== undefined)).toMatchObject({
      uris: ["spiffe://cluster.local/ns/mounted/sa/web"],
    });
    expect(harness.log.join("\n")).not.toContain("certificate renewed");
  }, 300_000);

  test("with EXIT_ON_ZERO_ACTIVE_CONNECTIONS it ends when the last client has gone, however short the drain is", async () => {
    const done = start({ EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true", MINIMUM_DRAIN_DURATION: "100ms" });
    await untilReady();
    await eventually(shown, (peer) => peer !== undefined);
    const client = connect({ host: "127.0.0.1", port: tls });
    try {
      await eventually(
        () => httpStatus(harness.ports.admin, "/stats?filter=downstream_cx_active"),
        ({ body }) => body.includes(`_${tls}.downstream_cx_active: 1\n`),
      );
      harness.stop();
      await eventually(
        async () => harness.log.join("\n"),
        (log) => log.includes("connections are still active"),
      );
    } finally {
      client.destroy();
    }
    expect(await done).toBe(0);
  }, 300_000);

  test("told to end, it drains, ends Envoy and exits 0", async () => {
    const done = start();
    await untilReady();
    const began = performance.now();
    harness.stop();
    expect(await done).toBe(0);
    expect(performance.now() - began).toBeGreaterThan(900);
    expect((await httpStatus(harness.ports.admin, "/ready")).status).toBe(0);
  }, 300_000);

  test("/quitquitquit from the own machine ends it at once; other methods do not", async () => {
    const done = start();
    await untilReady();
    expect((await httpStatus(harness.ports.status, "/quitquitquit")).status).toBe(405);
    expect((await httpStatus(harness.ports.status, "/quitquitquit", "POST")).status).toBe(200);
    expect(await done).toBe(0);
    expect((await httpStatus(harness.ports.admin, "/ready")).status).toBe(0);
  }, 300_000);

  test("D07: when Envoy dies the agent exits with it, or starts another where it is told to", async () => {
    const quit = async (): Promise<void> => {
      await httpStatus(harness.ports.admin, "/quitquitquit", "POST");
    };
    const pid = (): number => livingEnvoy(harness.workDir)?.process.pid ?? 0;
    const done = start();
    await untilReady();
    await quit();
    expect(await done).toBe(0);
    const killed = start();
    await untilReady();
    process.kill(pid(), "SIGKILL");
    expect(await killed).not.toBe(0);
    start({}, { onEnvoyExit: "restart" });
    await untilReady();
    await quit();
    await eventually(
      () => httpStatus(harness.ports.admin, "/ready"),
      (answer) => answer.status === 0,
    );
    await untilReady();
    const first = pid();
    // One whose admin does not answer is not said to be ready.
    process.kill(first, "SIGSTOP");
    await eventually(
      () => httpStatus(harness.ports.status, "/healthz/ready"),
      (answer) => answer.status === 503,
    );
    process.kill(first, "SIGKILL");
    await eventually(
      async () => pid(),
      (now) => now !== 0 && now !== first,
    );
    await untilReady();
  }, 300_000);

  test("D08: after a killed agent, with the control plane away, the next one takes over its Envoy and its names", async () => {
    const [dns = 0] = await freePorts(1);
    const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${dns}` };
    const resolver = new Resolver({ timeout: 1_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${dns}`]);
    const lookUp = (): Promise<readonly string[]> => resolver.resolve4("web.ns").catch(() => []);
    const answered = () => eventually(lookUp, (addresses) => addresses.length > 0);
    const host = "web.ns.svc.cluster.local";
    const table = { [host]: { ips: ["10.1.0.1"], registry: "Kubernetes", shortname: "web", namespace: "ns" } };
    const names = toBinary(NameTableSchema, create(NameTableSchema, { table }));
    harness.send(new Map([...tlsListener(tls), [types.nameTable, [names]]]));
    const killed = harness.spawn(env);
    await untilReady();
    expect(await answered()).toEqual(["10.1.0.1"]);
    const envoy = livingEnvoy(harness.workDir)?.process.pid;
    await eventually(
      async () => existsSync(join(harness.workDir, "etc/istio/proxy/names")),
      (there) => there,
    );
    const before = await eventually(shown, (peer) => peer !== undefined);
    await harness.closeControlPlane();
    const ended = once(killed, "exit");
    killed.kill("SIGKILL");
    await ended;
    expect(await lookUp()).toEqual([]);
    harness.spawn(env);
    expect(await answered()).toEqual(["10.1.0.1"]);
    await untilReady();
    expect(livingEnvoy(harness.workDir)?.process.pid).toBe(envoy);
    // It goes on with its certificate, and is given the next one over the socket that took the place of the old one.
    expect(await shown()).toEqual(before);
    await harness.openControlPlane();
    await eventually(shown, (peer) => peer !== undefined && peer.serial !== before?.serial);
    const folder = join(harness.workDir, "etc/istio/proxy/sockets");
    for (const name of readdirSync(folder, { recursive: true }).map(String)) {
      const about = statSync(join(folder, name));
      if (about.isSocket()) expect([name, about.mode & 0o777]).toEqual([name, 0o600]);
    }
  }, 300_000);

  test("D08: a second agent of the same Pod is refused, and harms the first in nothing", async () => {
    harness.spawn();
    await untilReady();
    await eventually(shown, (peer) => peer !== undefined);
    const envoy = livingEnvoy(harness.workDir)?.process.pid;
    const sockets = (): readonly string[] =>
      readdirSync(join(harness.workDir, "etc/istio/proxy/sockets"), { recursive: true }).map(String).sort();
    const before = sockets();
    const second = harness.spawn();
    const [status] = await once(second, "exit");
    expect(status, harness.log.join("")).not.toBe(0);
    expect(harness.log.join("")).toContain("another agent");
    expect(sockets()).toEqual(before);
    expect(livingEnvoy(harness.workDir)?.process.pid).toBe(envoy);
    expect((await httpStatus(harness.ports.status, "/healthz/ready")).status).toBe(200);
    const [moved = 0] = await freePorts(1);
    tls = moved;
    harness.send(await tlsListener(moved));
    await harness.closeControlPlane();
    await harness.openControlPlane();
    // Its way to the control plane is whole.
    expect(await eventually(shown, (peer) => peer !== undefined)).toBeDefined();
  }, 300_000);

  test("P05: short of memory it gives no metrics and says so, and all else goes on", async () => {
    let share = 0.1;
    const overload = createOverload({
      ...{ heap: { limitBytes: 1e9, share: () => share, close: () => {} }, descriptorLimit: 1e6 },
      ...{ log: silentLogger, monotonicMs: () => performance.now() },
    });
    start({}, { overload });
    await untilReady();
    share = 0.9;
    expect(await httpStatus(harness.ports.status, "/stats/prometheus")).toMatchObject({
      status: 503,
      body: "too busy: try again later",
    });
    expect((await httpStatus(harness.ports.status, "/healthz/ready")).status).toBe(200);
    expect(await eventually(shown, (peer) => peer !== undefined)).toBeDefined();
    share = 0.5;
    const { status, body } = await httpStatus(harness.ports.status, "/stats/prometheus");
    expect(status).toBe(200);
    expect(body).toMatch(/^fairlead_agent_shed_total\{what="request",cause="memory"\} 1$/m);
  }, 300_000);

  test("an Envoy that hangs is spoken of and replaced; one that only paused is not", async () => {
    const limits = { periodMs: 50, answerMs: 5_000, warnMs: 100, replaceMs: 14_000, minQuestions: 2, startMs: 30_000 };
    start({}, { onEnvoyExit: "restart", envoySilence: limits });
    await untilReady();
    const pid = (): number => livingEnvoy(harness.workDir)?.process.pid ?? 0;
    const said = (text: RegExp) =>
      eventually(
        async () => harness.log.join("\n"),
        (log) => text.test(log),
      );
    const first = pid();
    process.kill(first, "SIGSTOP");
    await said(/Envoy has not answered for [\d.]+ s\n?/);
    process.kill(first, "SIGCONT");
    await said(/Envoy answers again/);
    expect(pid()).toBe(first);
    process.kill(first, "SIGSTOP");
    await said(/Envoy has not answered for [\d.]+ s, and is replaced/);
    await untilReady();
    expect(pid()).not.toBe(first);
    const { body } = await httpStatus(harness.ports.status, "/stats/prometheus");
    expect(body).toMatch(/^fairlead_agent_envoy_hangs_total 1$/m);
    expect(body).toMatch(/^fairlead_agent_envoy_restarts_total 1$/m);
    expect(body).toMatch(/^fairlead_agent_event_loop_delay_seconds\{quantile="1"\} /m);
  }, 300_000);
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
