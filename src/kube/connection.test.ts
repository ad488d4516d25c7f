import { once } from "node:events";
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { openConnection } from "./connection.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { createTransport } from "./transport.ts";

/** An API over HTTP/2, behind a wire that can fall silent. */
let server: Http2SecureServer;
let wire: Server;
let silent = false;
const sockets = new Set<Socket>();
let answer: (stream: ServerHttp2Stream) => void;
let asked = 0;

beforeAll(async () => {
  const { privateKey, publicKey } = await generateKey();
  const certificate = issueCertificate({
    profile: "ca",
    subject: { commonName: "test" },
    publicKey,
    signer: { certificate: undefined, key: privateKey },
    now: new Date(),
    ttlMs: 3600_000,
  });
  server = createSecureServer({ cert: formatCertificate(certificate), key: formatPrivateKey(privateKey) });
  server.on("stream", (stream) => {
    asked++;
    stream.on("error", () => {});
    answer(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  wire = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (data) => silent || to.write(data));
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  wire.listen(0, "127.0.0.1");
  await once(wire, "listening");
});
beforeEach(() => {
  silent = false;
  asked = 0;
  answer = (stream) => {
    stream.respond({ ":status": 200 });
    stream.end('{"ok":true}');
  };
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  wire.close();
  server.close();
});

const access = (): ClusterAccess => ({
  server: `https://127.0.0.1:${(wire.address() as AddressInfo).port}`,
  ca: undefined,
  insecure: true,
  serverName: undefined,
  namespace: "default",
  credentials: async () => ({}),
});

test("all requests share one connection; after GOAWAY the next one is made without a word", async () => {
  const transport = createTransport(access());
  const ask = () => transport.json({ method: "GET", path: "/a" });
  await Promise.all([ask(), ask(), ask()]);
  expect(sockets.size).toBe(2);
  answer = (stream) => {
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR);
    stream.respond({ ":status": 200 });
    stream.end("{}");
  };
  await ask();
  answer = (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("{}");
  };
  for (let i = 0; i < 5; i++) await transport.json({ method: "POST", path: "/b", body: {} });
  transport.close();
});

test("what the server warns of is handed on, text by text, also with an error", async () => {
  const warnings: string[] = [];
  const transport = createTransport(access(), { onWarning: (text) => warnings.push(text) });
  answer = (stream) => {
    stream.respond({ ":status": warnings.length === 0 ? 200 : 400, warning: '299 - "a, \\"b\\"", 299 - "c"' });
    stream.end("{}");
  };
  await transport.json({ method: "GET", path: "/a" });
  expect(warnings).toEqual(['a, "b"', "c"]);
  await expect(transport.json({ method: "POST", path: "/b", body: {} })).rejects.toThrow();
  expect(warnings).toHaveLength(4);
  transport.close();
});

test("a write that the server refused to look at is sent again, one that it may have seen is not", async () => {
  const transport = createTransport(access());
  const write = () => transport.json({ method: "POST", path: "/b", body: {} });
  const usual = answer;
  answer = (stream) => {
    answer = usual;
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
  };
  await expect(write()).resolves.toEqual({ ok: true });
  expect(asked).toBe(2);
  answer = (stream) => stream.session?.destroy();
  await expect(write()).rejects.toMatchObject({ code: "unavailable" });
  expect(asked).toBe(3);
  answer = (stream) => {
    answer = usual;
    stream.session?.destroy();
  };
  await expect(transport.json({ method: "GET", path: "/a" })).resolves.toEqual({ ok: true });
  transport.close();
});

test("a wire that falls silent ends a watch by an unanswered ping", async () => {
  answer = (stream) => {
    stream.respond({ ":status": 200 });
    stream.write("{}\n");
  };
  const { port } = wire.address() as AddressInfo;
  const connection = await openConnection({
    host: "127.0.0.1",
    port,
    tls: { rejectUnauthorized: false },
    pingMs: 50,
  });
  const { body } = await connection.send({
    method: "GET",
    path: "/watch",
    headers: {},
    body: undefined,
    signal: undefined,
    timeoutMs: 5_000,
    endless: true,
  });
  const ended = (async () => {
    for await (const _ of body) silent = true;
  })();
  await expect(ended).rejects.toThrow();
  expect(connection.usable).toBe(false);
});

const half = '{"items":[{"a":1}';
const breaks: readonly (readonly [string, (stream: ServerHttp2Stream) => void])[] = [
  ["its connection", (stream) => stream.session?.destroy()],
  ["its stream", (stream) => stream.destroy(new Error("gone"))],
  ["less than its length", (stream) => stream.end()],
];

test.each(breaks)("an answer that ends early, by %s, is asked for again, a second time told", async (how, cut) => {
  const transport = createTransport(access());
  const length = how === "less than its length" ? { "content-length": "40" } : {};
  let cuts = 1;
  const whole = answer;
  answer = (stream) => {
    if (cuts-- <= 0) return whole(stream);
    stream.respond({ ":status": 200, ...length });
    stream.write(half, () => cut(stream));
  };
  const ask = (method: string) => transport.json({ method, path: "/a" });
  expect(await ask("GET")).toEqual({ ok: true });
  expect(asked).toBe(2);
  cuts = 2;
  const told = { code: "unavailable", message: expect.stringContaining("the answer ended after 17") };
  await expect(ask("GET")).rejects.toMatchObject(told);
  expect(asked).toBe(4);
  cuts = 1;
  await expect(ask("POST")).rejects.toMatchObject(told);
  expect(asked).toBe(5);
  transport.close();
});

test("an answer of which all came is whole, however its stream ends", async () => {
  const transport = createTransport(access());
  const text = '{"ok":true}';
  answer = (stream) => {
    stream.respond({ ":status": 201, "content-length": String(text.length) });
    stream.write(text, () => stream.destroy(new Error("gone")));
  };
  await expect(transport.json({ method: "POST", path: "/b", body: {} })).resolves.toEqual({ ok: true });
  expect(asked).toBe(1);
  transport.close();
});
