/** Every server of ours with its real bounds: clients that begin and do not go on are let go. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startStatusServer } from "../src/agent/status-server.ts";
import { createApiServer } from "../src/apiserver/index.ts";
import { createCertificateAuthority, createSelfSignedBundle } from "../src/ca/index.ts";
import { silentLogger, wait } from "../src/lib/index.ts";
import { createHttpServer } from "../src/ops/index.ts";
import { createRpcServer } from "../src/rpc/index.ts";
import { createClusterDns } from "../src/standalone/dns.ts";

const log = silentLogger;
const host = "127.0.0.1";
const now = (): Date => new Date();
const opened: { close(): Promise<void> }[] = [];
let dir: string;

interface Target {
  readonly name: string;
  readonly at: { readonly port: number; readonly host: string } | { readonly path: string };
  readonly secure: boolean;
  readonly protocols: readonly ("http/1.1" | "h2" | "dns")[];
}
let targets: readonly Target[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "idle-"));
  const authority = createCertificateAuthority({
    bundle: await createSelfSignedBundle({ organization: "o", now: now() }),
    now,
  });
  const tls = await authority.issueServing({ dns: ["a"], addresses: [host] });
  const rpc = async (secure: boolean): Promise<number> => {
    const server = createRpcServer({ routes: [], log, ...(secure ? { tls } : {}) });
    opened.push(server);
    return (await server.listen({ host, port: 0 })).port;
  };
  const web = async (secure: boolean): Promise<number> => {
    const address = { host, port: 0 };
    const server = await createHttpServer({ address, log, routes: new Map(), ...(secure ? { tls } : {}) });
    opened.push(server);
    return server.address.port;
  };
  const api = await createApiServer({ dataDir: join(dir, "api"), now, log });
  const dns = await createClusterDns({ address: host, port: 0, domain: "d", lookup: () => undefined, log });
  const status = await startStatus();
  opened.push(api, dns, status);
  const of = (name: string, port: number, secure: boolean, ...protocols: Target["protocols"]): Target => ({
    name,
    at: { host, port },
    secure,
    protocols,
  });
  targets = [
    of("15010", await rpc(false), false, "h2"),
    of("15012", await rpc(true), true, "h2"),
    of("15014 and 8080", await web(false), false, "http/1.1"),
    of("15017", await web(true), true, "http/1.1"),
    of("the embedded API", Number(api.address.split(":").at(-1)), true, "h2", "http/1.1"),
    of("15020", status.port, false, "http/1.1"),
    { name: "readiness for Envoy", at: { path: join(dir, "ready") }, secure: false, protocols: ["http/1.1"] },
    of("DNS over TCP", dns.port, false, "dns"),
  ];
}, 300_000);
afterAll(async () => {
  for (const server of opened) await server.close();
  rmSync(dir, { recursive: true });
});

const startStatus = () =>
  startStatusServer({
    host,
    port: 0,
    readinessSocket: join(dir, "ready"),
    mergedMetricsSocket: join(dir, "metrics"),
    isOwn: async () => false,
    notReady: async () => undefined,
    envoyMetrics: async () => "",
    agentMetrics: () => "",
    proxyMetrics: () => [],
    appMetrics: async () => "",
    appProbes: new Map(),
    appAddress: host,
    onQuit: () => {},
    onDrain: async () => {},
    log,
  });

const upgrade =
  "GET /api/v1/namespaces/default/pods/web/attach?stdout=true HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
const beginnings = {
  "http/1.1": ["", "GET /healthz/ready HTTP/1.1\r\nHost: a\r\nX-Slow: ", upgrade],
  h2: ["", "PRI * HTTP/2.0\r\n\r\nSM\r\n"],
  dns: ["", "\0\x30ab"],
};
const handshakes = ["", "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"];

/** The bounds are 10 s; more is for a busy machine, and a server without them takes minutes or for ever. */
const patienceMs = 90_000;

/** Undefined when it was let go. */
async function begin(name: string, socket: Socket, text: string): Promise<string | undefined> {
  socket.on("error", () => {}).resume();
  if (text !== "") socket.write(text, "latin1");
  const timer = new AbortController();
  const late = new Promise<"late">((resolve) => {
    const timeout = setTimeout(() => resolve("late"), patienceMs);
    timer.signal.addEventListener("abort", () => clearTimeout(timeout));
  });
  const closed = new Promise<"closed">((resolve) => socket.once("close", () => resolve("closed")));
  const outcome = await Promise.race([closed, late]);
  timer.abort();
  socket.destroy();
  return outcome === "late" ? `${name}: ${JSON.stringify(text)}` : undefined;
}

test("who begins and does not go on is let go, at every port", async () => {
  const open = targets.flatMap(({ name, at, secure, protocols }) => [
    ...(secure ? handshakes.map((text) => begin(`${name}, TLS`, connect(at), text)) : []),
    ...protocols.flatMap((protocol) =>
      beginnings[protocol].map((text) => {
        const tls = { ...at, rejectUnauthorized: false, ALPNProtocols: [protocol] };
        return begin(`${name}, ${protocol}`, secure ? connectTls(tls) : connect(at), text);
      }),
    ),
  ]);
  expect((await Promise.all(open)).filter((left) => left !== undefined)).toEqual([]);
  expect(open.length).toBeGreaterThan(20);
}, 300_000);

test("who is refused a stream and stays is let go, though it goes on to speak", async () => {
  const api = targets.find(({ name }) => name === "the embedded API");
  if (!api) throw new Error("not started");
  const tls = { ...api.at, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"], allowHalfOpen: true };
  const socket = connectTls(tls).on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve("let go")));
  socket.write(`${upgrade}\r\n`);
  expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 40[13] /);
  socket.resume();
  // Its end alone cannot be seen: what is written after it is answered with a reset.
  const speak = setInterval(() => socket.write("x"), 250);
  const late = new AbortController();
  const outcome = await Promise.race([closed, wait(patienceMs, late.signal).then(() => "still there")]);
  late.abort();
  clearInterval(speak);
  socket.destroy();
  expect(outcome).toBe("let go");
});

test("who asks for a stream, with a body that never comes, is let go", async () => {
  const api = targets.find(({ name }) => name === "the embedded API");
  if (!api) throw new Error("not started");
  const tls = { ...api.at, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"], allowHalfOpen: true };
  const bodies = [
    "Content-Length: 100\r\n\r\n",
    "Content-Length: 100\r\n\r\nabc",
    "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
  ];
  const open = bodies.map(async (body) => {
    const socket = connectTls(tls);
    // Its end alone cannot be seen: what is written after it is answered with a reset.
    const speak = setInterval(() => socket.write("x"), 250);
    const left = await begin("upgrade", socket, `${upgrade}${body}`);
    clearInterval(speak);
    return left;
  });
  expect((await Promise.all(open)).filter((left) => left !== undefined)).toEqual([]);
});
