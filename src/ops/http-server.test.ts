import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { spendCpu } from "../../test/cpu-time.ts";
import { createLogger, createWatchdog, silentLogger } from "../lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";

let server: HttpServer;
beforeEach(async () => {
  server = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    maxBodyBytes: 1000,
    routes: new Map([["/echo", async (request) => ({ status: 200, body: await request.body() })]]),
  });
});
afterEach(() => server.close());

const post = (body: string) => fetch(`http://127.0.0.1:${server.address.port}/echo`, { method: "POST", body });

/** What the server says to bytes that no client library would send. */
async function raw(text: string): Promise<string> {
  const socket = connect(server.address.port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  socket.write(text);
  await once(socket, "close");
  return answer;
}

test("an answer in pieces is whole; where its making fails, or its reader leaves, it ends", async () => {
  let isEnded = false;
  function* endless(): Generator<string> {
    try {
      for (;;) yield "x".repeat(100_000);
    } finally {
      isEnded = true;
    }
  }
  function* broken(): Generator<string> {
    yield "half";
    throw new Error("no more");
  }
  const answers: readonly (readonly [string, Iterable<string>])[] = [
    ["/whole", ["a", "b", "c"]],
    ["/broken", broken()],
    ["/endless", endless()],
  ];
  const other = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    routes: new Map(answers.map(([path, pieces]) => [path, () => ({ status: 200, body: { pieces } })])),
  });
  const url = `http://127.0.0.1:${other.address.port}`;
  expect(await (await fetch(`${url}/whole`)).text()).toBe("abc");
  await expect(fetch(`${url}/broken`).then((answer) => answer.text())).rejects.toThrow();
  const left = await fetch(`${url}/endless`);
  await left.body?.cancel();
  await vi.waitUntil(() => isEnded, { timeout: 120_000 });
  await other.close();
});

test("a path with empty parts leads to the one without them, on this server", async () => {
  const url = `http://127.0.0.1:${server.address.port}`;
  const answer = await fetch(`${url}//echo?a=//b`, { redirect: "manual" });
  expect([answer.status, answer.headers.get("location")]).toEqual([301, "/echo?a=//b"]);
  const other = await fetch(`${url}///evil.example//x`, { redirect: "manual" });
  expect(other.headers.get("location")).toBe("/evil.example/x");
  // A browser would go to another site by it; one that sends it as it is, is no browser.
  const socket = connect(server.address.port, "127.0.0.1");
  socket.write("GET /\\evil.example//x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  expect(await text(socket)).toContain("location: /%5Cevil.example/x\r\n");
});

test("a body of the greatest size is read, a larger one is told that it is", async () => {
  expect(await (await post("x".repeat(1000))).text()).toBe("x".repeat(1000));
  expect((await post("x".repeat(1001))).status).toBe(413);
  expect((await post("x".repeat(3_000_000))).status).toBe(413);
  expect((await post("x")).status).toBe(200);
});

test("a body without a stated size that never ends is cut off after its answer", async () => {
  const chunk = `${(500).toString(16)}\r\n${"x".repeat(500)}\r\n`;
  expect(await raw(`POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}`)).toMatch(
    /^HTTP\/1.1 413 /,
  );
});

test("a target that is no URL is the caller's mistake", async () => {
  expect(await raw("GET //[ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
});

test("a client that never begins its handshake is not waited for", { timeout: 300_000 }, async () => {
  const { privateKey, publicKey } = await generateKey();
  const certificate = issueCertificate({
    profile: "ca",
    subject: { commonName: "test" },
    publicKey,
    signer: { certificate: undefined, key: privateKey },
    now: new Date(),
    ttlMs: 60_000,
  });
  const secure = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    tls: { cert: formatCertificate(certificate), key: formatPrivateKey(privateKey) },
    routes: new Map(),
  });
  const silent = connect(secure.address.port, "127.0.0.1");
  silent.on("error", () => {});
  await once(silent, "connect");
  await secure.close();
});

test("a request that holds up all others is named", async () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date() });
  const slow = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    watchdog: createWatchdog(log),
    routes: new Map([
      [
        "/slow",
        async (request) => {
          await request.body();
          spendCpu(150);
          return { status: 200, body: "" };
        },
      ],
    ]),
  });
  await fetch(`http://127.0.0.1:${slow.address.port}/slow?token=secret`, { method: "POST", body: "x" });
  await slow.close();
  expect(lines.join("\n")).toMatch(/the event loop was held for \d+ ms by POST \/slow\b/);
  expect(lines.join("\n")).not.toContain("secret");
});

test("bodies that together are too much give way, the largest first, and small ones come through", async () => {
  const small = await createHttpServer({
    ...{ address: { host: "127.0.0.1", port: 0 }, log: silentLogger, maxBodyBytes: 1000, maxInflowBytes: 2000 },
    routes: new Map([["/echo", async (request) => ({ status: 200, body: await request.body() })]]),
  });
  const { port } = small.address;
  const begin = (length: number) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n${"x".repeat(length)}`);
    return { socket, answer: once(socket, "data").then(String) };
  };
  const held = [begin(900), begin(950)];
  await Promise.all(held.map(({ socket }) => once(socket, "connect")));
  const third = begin(940);
  expect(await Promise.race([...held, third].map(({ answer }) => answer))).toMatch(
    /^HTTP\/1.1 503 .*too many large bodies/s,
  );
  expect(await (await fetch(`http://127.0.0.1:${port}/echo`, { method: "POST", body: "small" })).text()).toBe("small");
  for (const { socket } of [...held, third]) socket.destroy();
  await small.close();
});
