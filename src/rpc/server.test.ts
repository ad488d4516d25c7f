import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import http2 from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { spendCpu } from "../../test/cpu-time.ts";
import { lacks } from "../../test/require.ts";
import { createLogger, createWatchdog, silentLogger, type Watchdog } from "../lib/index.ts";
import { createRpcClient, type RpcClient, type RpcClientOptions } from "./client.ts";
import type { Limits } from "./limits.ts";
import type { Peer } from "./peer.ts";
import { bidi, serverStream, unary } from "./route.ts";
import { createRpcServer, type RpcServer } from "./server.ts";
import { RpcError, status } from "./status.ts";
import { createTestAuthority, echo, message } from "./testing.ts";
import type { ServerTls } from "./transport.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

let lastPeer: Peer | undefined;
let ended: Promise<unknown>;

const routes = () => {
  let settle: (reason: unknown) => void = () => {};
  ended = new Promise((resolve) => {
    settle = resolve;
  });
  return [
    unary(echo.unary, async (request, call) => {
      lastPeer = call.peer;
      if (request.value === "fail") throw new RpcError(status.failedPrecondition, "50% ü");
      if (request.value === "crash") throw new TypeError("secret detail");
      if (request.value === "hold") spendCpu(150);
      if (request.value === "hang") await once(call.signal, "abort");
      return message(`${request.value}${call.metadata("x-tail") ?? ""}`);
    }),
    serverStream(echo.download, async (request, _call, send) => {
      for (let i = 0; i < 3; i++) await send(message(`${request.value}${i}`));
    }),
    bidi(echo.chat, async (requests, call, send) => {
      call.signal.addEventListener("abort", () => settle(call.signal.reason));
      for await (const request of requests) {
        if (request.value === "stop") return;
        await send(message(request.value));
      }
    }),
  ];
};

async function start(
  options: { limits?: Partial<Limits>; tls?: ServerTls; watchdog?: Watchdog } = {},
): Promise<{ server: RpcServer; port: number }> {
  const server = createRpcServer({ routes: routes(), log: silentLogger, ...options });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  open.push(() => server.close());
  return { server, port };
}

function client(options: RpcClientOptions): RpcClient {
  const made = createRpcClient(options);
  open.push(() => made.close());
  return made;
}

const at = (port: number) => ({ host: "127.0.0.1", port });

const serialize = (value: string): Buffer => Buffer.from(toBinary(StringValueSchema, message(value)));
const deserialize = (bytes: Buffer): string => bytes.subarray(2).toString();

test("connections beyond the bound are closed at once, even if they say nothing", async () => {
  const { port } = await start({ limits: { maxConnections: 1 } });
  const first = connect(port, "127.0.0.1");
  open.push(() => void first.destroy());
  await once(first, "connect");
  const second = connect(port, "127.0.0.1");
  second.on("error", () => {});
  await once(second, "close");
  expect(first.destroyed).toBe(false);
});

test("a call that holds up all others is named", async () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date() });
  const { port } = await start({ watchdog: createWatchdog(log) });
  await client({ target: at(port) }).unary(echo.unary, message("hold"));
  expect(lines.join("\n")).toMatch(/the event loop was held for \d+ ms by \/\S+ of 127\.0\.0\.1:\d+/);
});

describe("our client and our server", () => {
  let port: number;
  let rpc: RpcClient;
  beforeEach(async () => {
    ({ port } = await start());
    rpc = client({ target: at(port), metadata: async () => ({ "x-tail": "!" }) });
  });

  test("unary, with metadata", async () => {
    expect((await rpc.unary(echo.unary, message("hello"))).value).toBe("hello!");
    expect(lastPeer).toMatchObject({ address: expect.stringContaining("127.0.0.1:"), tls: undefined });
  });

  test("server streaming and bidirectional", async () => {
    const down = await rpc.stream(echo.download);
    await down.send(message("n"));
    down.end();
    const got: string[] = [];
    for await (const one of down.messages) got.push(one.value);
    expect(got).toEqual(["n0", "n1", "n2"]);

    const chat = await rpc.stream(echo.chat);
    await chat.send(message("a"));
    expect((await chat.messages.next()).value?.value).toBe("a");
    await chat.send(message("stop"));
    expect((await chat.messages.next()).done).toBe(true);
  });

  test("a 3 MB message passes, one past the limit is refused, and the connection lives on", async () => {
    const large = "x".repeat(3_000_000);
    expect((await rpc.unary(echo.unary, message(large))).value).toBe(`${large}!`);
    await expect(rpc.unary(echo.unary, message("x".repeat(5_000_000)))).rejects.toMatchObject({
      status: status.resourceExhausted,
    });
    expect((await rpc.unary(echo.unary, message("ok"))).value).toBe("ok!");
  });

  test("errors keep status and text; what is not ours stays inside", async () => {
    await expect(rpc.unary(echo.unary, message("fail"))).rejects.toMatchObject({
      status: status.failedPrecondition,
      message: "50% ü",
    });
    await expect(rpc.unary(echo.unary, message("crash"))).rejects.toMatchObject({
      status: status.internal,
      message: "internal error",
    });
    await expect(rpc.unary({ ...echo.unary, path: "/no/Such" }, message(""))).rejects.toMatchObject({
      status: status.unimplemented,
    });
  });

  test("deadline and cancellation reach the other side", async () => {
    await expect(rpc.unary(echo.unary, message("hang"), { timeoutMs: 50 })).rejects.toMatchObject({
      status: status.deadlineExceeded,
    });
    const stop = new AbortController();
    const chat = await rpc.stream(echo.chat, { signal: stop.signal });
    await chat.send(message("a"));
    await chat.messages.next();
    stop.abort();
    await expect(chat.messages.next()).rejects.toMatchObject({ status: status.cancelled });
    expect(await ended).toMatchObject({ status: status.cancelled });
  });

  test("a server that is not there is unavailable", async () => {
    const lost = client({ target: { host: "127.0.0.1", port: 1 } });
    await expect(lost.unary(echo.unary, message("x"))).rejects.toMatchObject({ status: status.unavailable });
  });
});

describe("with grpc-js", () => {
  test("its client on our server: unary, gzip, streaming, status, deadline", async () => {
    const { port } = await start();
    const stub = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
      "grpc.default_compression_algorithm": 2,
    });
    open.push(() => stub.close());
    const call = (value: string, options: grpc.CallOptions = {}): Promise<string | undefined> =>
      new Promise((resolve, reject) => {
        stub.makeUnaryRequest(
          echo.unary.path,
          serialize,
          deserialize,
          value,
          new grpc.Metadata(),
          options,
          (error, answer) => (error ? reject(error) : resolve(answer)),
        );
      });
    expect(await call("hello")).toBe("hello");
    await expect(call("fail")).rejects.toMatchObject({ code: grpc.status.FAILED_PRECONDITION, details: "50% ü" });
    await expect(call("hang", { deadline: Date.now() + 100 })).rejects.toMatchObject({
      code: grpc.status.DEADLINE_EXCEEDED,
    });
    const chat = stub.makeBidiStreamRequest(echo.chat.path, serialize, deserialize);
    chat.write("a");
    expect((await once(chat, "data"))[0]).toBe("a");
    chat.write("stop");
    chat.resume();
    expect((await once(chat, "status"))[0]).toMatchObject({ code: 0 });
  });

  test("our client on its server", async () => {
    const server = new grpc.Server();
    const definition = {
      requestSerialize: serialize,
      requestDeserialize: deserialize,
      responseSerialize: serialize,
      responseDeserialize: deserialize,
    };
    server.addService(
      {
        Unary: { ...definition, path: echo.unary.path, requestStream: false, responseStream: false },
        Chat: { ...definition, path: echo.chat.path, requestStream: true, responseStream: true },
      },
      {
        Unary: (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>) =>
          call.request === "fail" ? done({ code: grpc.status.NOT_FOUND, details: "größe" }) : done(null, call.request),
        Chat: (call: grpc.ServerDuplexStream<string, string>) => {
          call.on("data", (value: string) => call.write(value));
          call.on("end", () => call.end());
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    open.push(() => server.forceShutdown());
    const rpc = client({ target: at(port) });
    expect((await rpc.unary(echo.unary, message("hello"))).value).toBe("hello");
    await expect(rpc.unary(echo.unary, message("fail"))).rejects.toMatchObject({
      status: status.notFound,
      message: "größe",
    });
    const chat = await rpc.stream(echo.chat);
    await chat.send(message("x".repeat(500_000)));
    expect((await chat.messages.next()).value?.value).toContain("x".repeat(500_000));
    chat.end();
    expect((await chat.messages.next()).done).toBe(true);
  });
});

describe.skipIf(lacks("openssl"))("TLS", () => {
  test("a verified client certificate gives its URI names; a foreign one and none do not; the certificate changes live", async () => {
    const [authority, foreign] = [createTestAuthority(), createTestAuthority()];
    const first = authority.issue("DNS:istiod.istio-system.svc");
    const { server, port } = await start({ tls: { ...first, clientCa: authority.ca } });
    const serverName = "istiod.istio-system.svc";
    const uri = "spiffe://cluster.local/ns/a/sa/b";
    const own = authority.issue(`URI:${uri}`);
    const other = foreign.issue(`URI:${uri}`);
    const ask = (tls: object) =>
      client({ target: at(port), tls: () => ({ ca: authority.ca, serverName, ...tls }) }).unary(
        echo.unary,
        message("x"),
      );

    await ask(own);
    expect(lastPeer?.tls).toMatchObject({ verified: true, uris: [uri] });
    await ask({});
    expect(lastPeer?.tls).toMatchObject({ verified: false, uris: [], certificate: undefined });
    await ask(other);
    expect(lastPeer?.tls).toMatchObject({ verified: false, uris: [] });

    server.setTls({ ...foreign.issue(`DNS:${serverName}`), clientCa: authority.ca });
    await expect(ask({})).rejects.toMatchObject({ status: status.unavailable });
    await ask({ ca: foreign.ca });
  });

  test("noise on the port does no harm", async () => {
    const authority = createTestAuthority();
    const { port } = await start({ tls: authority.issue("DNS:a") });
    const plain = await start();
    for (const target of [port, plain.port])
      for (const noise of [
        "GET / HTTP/1.1\r\n\r\n",
        "\0\0\0\0\0",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
      ]) {
        const socket = connect(target, "127.0.0.1");
        socket.on("error", () => {});
        socket.write(noise, "latin1");
        socket.resume();
        await once(socket, "close");
      }
    expect((await client({ target: at(plain.port) }).unary(echo.unary, message("ok"))).value).toBe("ok");
  });
});

describe("life of a connection", () => {
  test("a unix socket is private, and a stale one is replaced", async () => {
    const dir = mkdtempSync(join(tmpdir(), "rpc-"));
    open.push(() => rmSync(dir, { recursive: true }));
    const path = join(dir, "s");
    for (let i = 0; i < 2; i++) {
      const server = createRpcServer({ routes: routes(), log: silentLogger });
      await server.listen({ path });
      open.push(() => server.close());
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect((await client({ target: { path } }).unary(echo.unary, message("hi"))).value).toBe("hi");
      expect(lastPeer?.address).toBe("unix");
    }
  });

  test("a busy port is named", async () => {
    const { port } = await start();
    const second = createRpcServer({ routes: [], log: silentLogger });
    await expect(second.listen(at(port))).rejects.toMatchObject({ code: "port-in-use" });
  });

  test("closing ends calls with UNAVAILABLE after a GOAWAY", async () => {
    const { server, port } = await start();
    const chat = await client({ target: at(port) }).stream(echo.chat);
    await chat.send(message("a"));
    await chat.messages.next();
    const closing = server.close({ graceMs: 50 });
    await expect(chat.messages.next()).rejects.toMatchObject({
      status: status.unavailable,
      message: "the server is shutting down",
    });
    await closing;
    expect(server.load()).toEqual({ connections: 0, calls: 0 });
  });

  test.skipIf(lacks("openssl"))("closing does not wait for a handshake that never ends", async () => {
    const server = createRpcServer({ routes: routes(), log: silentLogger, tls: createTestAuthority().issue("DNS:a") });
    const { port } = await server.listen(at(0));
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    await Promise.all([once(socket.resume(), "close"), server.close()]);
    expect(server.load().connections).toBe(0);
  });

  test("an aged connection is drained; the next call makes a new one", async () => {
    const { port } = await start({ limits: { maxAgeMs: 50, maxAgeGraceMs: 20 } });
    const rpc = client({ target: at(port) });
    const chat = await rpc.stream(echo.chat);
    await chat.send(message("a"));
    await chat.messages.next();
    await expect(chat.messages.next()).rejects.toMatchObject({
      status: status.unavailable,
      message: "maximum connection age",
    });
    expect((await rpc.unary(echo.unary, message("again"))).value).toBe("again");
  });

  test("a peer that does not answer pings is dropped", async () => {
    const { server, port } = await start({ limits: { keepaliveMs: 30, keepaliveTimeoutMs: 30 } });
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1");
    socket.resume();
    await once(socket, "close");
    expect(server.load().connections).toBe(0);
  });

  test.each([
    ["no message", echo.unary.path, ""],
    ["half of one", echo.unary.path, "\0\0\0\0\x05ab"],
    ["one and no end", echo.unary.path, "\0\0\0\0\0"],
    ["no first message", echo.chat.path, ""],
    ["half of a later one", echo.chat.path, "\0\0\0\0\0\0\0"],
  ])("a call that sends %s is ended", async (_, path, sent) => {
    const { port } = await start({ limits: { stallMs: 50 } });
    const session = http2.connect(`http://127.0.0.1:${port}`);
    open.push(() => session.destroy());
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc" };
    const stream = session.request(headers).resume();
    if (sent !== "") stream.write(sent, "latin1");
    let said = {};
    for (const event of ["response", "trailers"] as const) stream.on(event, (got) => (said = { ...said, ...got }));
    await once(stream, "close");
    expect(said).toMatchObject({ "grpc-status": String(status.deadlineExceeded) });
  });

  test("a conversation may pause between messages for as long as it likes", async () => {
    const { port } = await start({ limits: { stallMs: 30 } });
    const rpc = client({ target: at(port) });
    const [quiet, halting] = [await rpc.stream(echo.chat), await rpc.stream(echo.chat)];
    await quiet.send(message("a"));
    await quiet.messages.next();
    await expect(halting.messages.next()).rejects.toMatchObject({ status: status.deadlineExceeded });
    await quiet.send(message("b"));
    expect((await quiet.messages.next()).value?.value).toBe("b");
  });

  test("a flood of pings ends the connection", async () => {
    const { port } = await start({ limits: { pingsPerSecond: 5 } });
    const session = http2.connect(`http://127.0.0.1:${port}`, { maxOutstandingPings: 100 });
    session.on("error", () => {});
    await once(session, "connect");
    for (let i = 0; i < 20; i++) session.ping(() => {});
    await once(session, "close");
    expect(session.destroyed).toBe(true);
  });

  test("a flood of resets ends the connection", async () => {
    const { port } = await start({ limits: { resetBurst: 20, resetsPerSecond: 1 } });
    const session = http2.connect(`http://127.0.0.1:${port}`);
    session.on("error", () => {});
    await once(session, "connect");
    const flood = setInterval(() => {
      if (session.destroyed || session.closed) return;
      for (let i = 0; i < 50; i++) {
        const stream = session.request({
          ":method": "POST",
          ":path": echo.chat.path,
          "content-type": "application/grpc",
        });
        stream.on("error", () => {});
        stream.close(http2.constants.NGHTTP2_CANCEL);
      }
    }, 5);
    await new Promise((resolve) => session.once("close", resolve));
    clearInterval(flood);
    expect(session.destroyed).toBe(true);
  });

  test("what is not gRPC gets an HTTP answer", async () => {
    const { port } = await start();
    const session = http2.connect(`http://127.0.0.1:${port}`);
    open.push(() => session.destroy());
    const answer = async (headers: http2.OutgoingHttpHeaders) =>
      (await once(session.request(headers, { endStream: true }).resume(), "response"))[0][":status"];
    expect(await answer({ ":path": "/" })).toBe(405);
    expect(await answer({ ":path": "/", ":method": "POST", "content-type": "text/plain" })).toBe(415);
  });

  test("a sender goes at the pace of its reader", async () => {
    let sent = 0;
    const large = message("x".repeat(1_000_000));
    const flood = serverStream(echo.download, async (_request, _call, send) => {
      for (; sent < 20; sent++) await send(large);
    });
    const server = createRpcServer({ routes: [flood], log: silentLogger });
    const { port } = await server.listen(at(0));
    open.push(() => server.close());
    const down = await client({ target: at(port) }).stream(echo.download);
    await down.send(message(""));
    down.end();
    await down.messages.next();
    const early = sent;
    let rest = 0;
    for await (const one of down.messages) rest += one.value.length;
    expect(early).toBeLessThan(8);
    expect(rest).toBe(19_000_000);
  });
});

test("messages that come in part and together are too much give way; a small one comes through", async () => {
  const { port } = await start({ limits: { maxInflowBytes: 100_000 } });
  const session = http2.connect(`http://127.0.0.1:${port}`).on("error", () => {});
  open.push(() => session.destroy());
  const head = Buffer.from([0, 0, 0, 0xc3, 0x50]);
  /** All but a byte of a message of 50,000. */
  const begin = (): Promise<string> => {
    const headers = { ":method": "POST", ":path": echo.unary.path, "content-type": "application/grpc" };
    const stream = session.request(headers, { endStream: false }).on("error", () => {});
    stream.resume().write(Buffer.concat([head, Buffer.alloc(49_999)]));
    return once(stream, "response").then(([answer]) => String((answer as http2.IncomingHttpHeaders)["grpc-message"]));
  };
  expect(await Promise.race([begin(), begin(), begin()])).toContain("too many large messages");
  expect((await client({ target: at(port) }).unary(echo.unary, message("small"))).value).toBe("small");
});
