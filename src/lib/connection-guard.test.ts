import { once } from "node:events";
import http, { type RequestListener } from "node:http";
import http2 from "node:http2";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { createTestAuthority } from "../rpc/testing.ts";
import {
  type ConnectionLimits,
  guardConnections,
  guardRequests,
  serverOptions,
  webLimits,
} from "./connection-guard.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

/** Far beyond what a test takes, so that only the bound under test can be what ended a connection. */
const never = 600_000;
const patient: ConnectionLimits = {
  ...webLimits,
  handshakeMs: never,
  headersMs: never,
  requestMs: never,
  stallMs: never,
  idleMs: never,
  keepaliveMs: never,
};

type Kind = "http" | "http2 over TLS" | "http2";

async function start(kind: Kind, limits: Partial<ConnectionLimits>, listener?: RequestListener): Promise<number> {
  return (await startSeen(kind, limits, listener)).port;
}

/** With the first connection as the server has it. */
async function startSeen(
  kind: Kind,
  limits: Partial<ConnectionLimits>,
  listener?: RequestListener,
): Promise<{ readonly port: number; readonly first: Promise<Socket> }> {
  const all = { ...patient, ...limits };
  const server = create(kind, all, listener ?? ((_, response) => void response.end("ok")));
  const connections = guardConnections(server, all);
  guardRequests(server, all);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => {
    const closed = once(server, "close");
    server.close();
    connections.destroyAll();
    return closed;
  });
  const first = once(server, "connection").then(([socket]) => socket as Socket);
  return { port: (server.address() as AddressInfo).port, first };
}

function create(kind: Kind, limits: ConnectionLimits, listener: RequestListener): Server {
  const options = serverOptions(limits);
  if (kind === "http") return http.createServer(options, listener);
  const either = listener as unknown as (
    request: http2.Http2ServerRequest,
    response: http2.Http2ServerResponse,
  ) => void;
  if (kind === "http2") return http2.createServer(options, either);
  return http2.createSecureServer({ ...options, ...createTestAuthority().issue("DNS:a"), allowHTTP1: true }, either);
}

/** A client that says this much and no more; resolves when it is let go, with what it was told. */
function say(port: number, text: string, secure = false, alpn: string[] = []): Promise<string> {
  const socket: Socket = secure
    ? connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: alpn })
    : connect(port, "127.0.0.1");
  open.push(() => socket.destroy());
  let heard = "";
  socket.on("data", (chunk) => (heard += chunk.toString("latin1"))).on("error", () => {});
  if (text !== "") socket.write(text, "latin1");
  return new Promise((resolve) => socket.once("close", () => resolve(heard)));
}

/** Also where it ends with a reset. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const headers = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
const shortMs = 40;

describe("a plain server lets go", () => {
  test.each([
    ["who says nothing", { headersMs: shortMs }, "", /^HTTP\/1.1 408/],
    ["who does not finish the headers", { headersMs: shortMs }, "GET / HTTP/1.1\r\nHost: a\r\nX: ", /^HTTP\/1.1 408/],
    [
      "who does not finish the body",
      { requestMs: shortMs, headersMs: shortMs },
      `${headers}abc`,
      /^HTTP\/1.1 (200|408)/,
    ],
    ["who does not go on with the body", { stallMs: shortMs }, `${headers}abc`, /^$/],
    ["who asks no more", { idleMs: shortMs }, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", /^HTTP\/1.1 200/],
    ["who does not speak HTTP", {}, "\x16\x03\x01\0\0", /^HTTP\/1.1 400/],
  ])("%s", async (_, limits, text, answer) => {
    const port = await start("http", limits, async (request, response) => {
      request.resume();
      await once(request, "end").catch(() => {});
      response.end("ok");
    });
    expect(await say(port, text)).toMatch(answer);
  });

  test("who does not take the answer, but not an answer that has nothing to say yet", async () => {
    const quiet = Promise.withResolvers<http.ServerResponse>();
    const cut = Promise.withResolvers<void>();
    const port = await start("http", { stallMs: shortMs }, (request, response) => {
      if (request.url === "/large") response.once("close", cut.resolve).end(Buffer.alloc(64 * 1024 * 1024));
      else {
        response.flushHeaders();
        quiet.resolve(response);
      }
    });
    const watch = connect(port, "127.0.0.1");
    open.push(() => watch.destroy());
    watch.write("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    const large = connect(port, "127.0.0.1").on("error", () => {});
    open.push(() => large.destroy());
    large.write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    const watching = await quiet.promise;
    await cut.promise;
    expect(watching.destroyed).toBe(false);
    watching.end("news");
    for await (const chunk of watch) if (String(chunk).includes("news")) return;
    throw new Error("the watch was cut off");
  });

  test.each<Kind>(["http", "http2 over TLS"])(
    "who sends blank lines for ever after an answer, and not who sent one and goes on, %s",
    async (kind) => {
      const port = await start(kind, { headersMs: shortMs });
      const ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
      const connected = async (): Promise<Socket> => {
        const at = { port, host: "127.0.0.1" };
        const socket = kind === "http" ? connect(at) : connectTls({ ...at, rejectUnauthorized: false });
        open.push(() => socket.destroy());
        socket.on("error", () => {}).write(ask);
        await once(socket, "data");
        return socket;
      };
      const [polite, endless] = [await connected(), await connected()];
      polite.write("\r\n");
      while (!endless.destroyed) {
        endless.write("\r\n".repeat(1000));
        await nextTurn();
      }
      polite.write(ask);
      expect(String((await once(polite, "data"))[0])).toMatch(/^HTTP\/1.1 200/);
    },
  );

  test("who sends thousands of requests at once, and those of a few are served one by one", async () => {
    let [open, most, served] = [0, 0, 0];
    const port = await start("http", {}, async (request, response) => {
      served++;
      most = Math.max(most, ++open);
      await nextTurn();
      open--;
      response.end(`answer ${request.url}`);
    });
    const get = (path: string, close = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${close}\r\n`;
    const paths = Array.from({ length: 50 }, (_, i) => `/${i}`);
    const few = paths.map((path, i) => get(path, i === 49 ? "Connection: close\r\n" : "")).join("");
    const heard = await say(port, few);
    expect([...heard.matchAll(/answer (\S+)/g)].map(([, path]) => path?.slice(0, 3))).toHaveLength(50);
    expect(heard.indexOf("answer /48")).toBeLessThan(heard.indexOf("answer /49"));
    expect(most).toBe(1);
    served = 0;
    await say(port, get("/").repeat(3000));
    expect(served).toBeLessThan(110);
  });

  test("who goes on with a body after the answer", async () => {
    const { port, first } = await startSeen("http", {}, (_, response) => void response.writeHead(401).end());
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    open.push(() => socket.destroy());
    socket.resume().write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    const trickle = setInterval(() => socket.write("a"), 50);
    open.push(() => clearInterval(trickle));
    await closed(await first);
  });

  test("one client's connections beyond its bound, and not another's", async () => {
    const port = await start("http", { maxPerClient: 2 });
    const from = (localAddress: string): Socket => {
      const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {});
      open.push(() => socket.destroy());
      return socket;
    };
    const first = [from("127.0.0.2"), from("127.0.0.2")];
    await Promise.all(first.map((socket) => once(socket, "connect")));
    await closed(from("127.0.0.2").resume());
    const other = from("127.0.0.3");
    other.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(String((await once(other, "data"))[0])).toMatch(/200 OK/);
    first[0]?.destroy();
    for (;;) {
      const again = from("127.0.0.2");
      again.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      const [event] = await Promise.race([
        once(again, "data").catch(() => ["closed"]),
        closed(again).then(() => ["closed"]),
      ]);
      if (String(event).includes("200 OK")) break;
    }
  });
});

describe.skipIf(lacks("openssl"))("a server of HTTP/2 over TLS lets go", () => {
  test.each([
    ["who does not begin the handshake", { handshakeMs: shortMs }, "", false, []],
    ["who does not end the handshake", { handshakeMs: shortMs }, "\x16\x03\x01\x02\0\x01", false, []],
    ["who does not greet", { handshakeMs: shortMs }, "", true, ["h2"]],
    ["who does not end the greeting", { handshakeMs: shortMs }, preface.slice(0, 10), true, ["h2"]],
    ["who does not answer pings", { keepaliveMs: shortMs, keepaliveTimeoutMs: shortMs }, preface, true, ["h2"]],
    ["who asks nothing", { idleMs: shortMs }, preface, true, ["h2"]],
    ["who says nothing in HTTP/1", { headersMs: shortMs }, "", true, ["http/1.1"]],
    ["who does not finish headers in HTTP/1", { headersMs: shortMs }, "GET / HT", true, ["http/1.1"]],
  ])("%s", async (_, limits, text, secure, alpn) => {
    await say(await start("http2 over TLS", limits), text, secure, alpn);
  });
});

describe("a server of HTTP/2 lets go", () => {
  test.each([
    ["who does not greet", { handshakeMs: shortMs }, ""],
    ["who does not end the greeting", { handshakeMs: shortMs }, preface.slice(0, 10)],
    ["who asks nothing", { idleMs: shortMs }, preface],
  ])("%s", async (_, limits, text) => {
    await say(await start("http2", limits), text);
  });

  test("a body that does not go on, and not an answer that has nothing to say yet", async () => {
    const port = await start("http2", { stallMs: shortMs }, (request, response) => {
      response.writeHead(200);
      if (request.url === "/upload") request.resume();
      else response.write("first");
    });
    const session = http2.connect(`http://127.0.0.1:${port}`);
    open.push(() => session.destroy());
    const watch = session.request({ ":path": "/watch" }, { endStream: true });
    await once(watch, "data");
    const upload = session.request({ ":method": "POST", ":path": "/upload" });
    upload.on("error", () => {}).resume();
    upload.write("some");
    await once(upload, "close");
    expect(upload.rstCode).toBe(http2.constants.NGHTTP2_CANCEL);
    expect(watch.closed).toBe(false);
  });

  test("an answer that is not taken, and not one that has nothing to say yet", async () => {
    const port = await start("http2", { stallMs: 200 }, (request, response) => {
      if (request.url === "/watch") response.writeHead(200).flushHeaders();
      else response.writeHead(401).end("who are you?");
    });
    const session = http2.connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
    open.push(() => session.destroy());
    const watch = session.request({ ":path": "/watch" }, { endStream: true });
    await once(watch, "response");
    for (let i = 0; i < 3; i++) {
      const stuck = session
        .request({ ":path": "/" }, { endStream: true })
        .on("error", () => {})
        .resume();
      await once(stuck, "close");
      expect(stuck.rstCode).toBe(http2.constants.NGHTTP2_CANCEL);
    }
    expect(watch.closed).toBe(false);
  });

  test("a body that goes on for too long, byte by byte", async () => {
    const port = await start("http2", { requestMs: 200 }, (request) => void request.resume());
    const session = http2.connect(`http://127.0.0.1:${port}`);
    open.push(() => session.destroy());
    const upload = session.request({ ":method": "POST", ":path": "/upload" });
    upload.on("error", () => {}).resume();
    const trickle = setInterval(() => upload.write("a"), 10);
    open.push(() => clearInterval(trickle));
    await once(upload, "close");
    expect(upload.rstCode).toBe(http2.constants.NGHTTP2_CANCEL);
  });

  test("a session only while it has no stream", async () => {
    const port = await start("http2", { idleMs: shortMs }, (_, response) => void response.write("first"));
    const session = http2.connect(`http://127.0.0.1:${port}`);
    const watch = session.request({ ":path": "/watch" }, { endStream: true });
    await once(watch, "data");
    const other = http2.connect(`http://127.0.0.1:${port}`);
    await once(other, "close");
    expect(session.closed).toBe(false);
    watch.on("error", () => {}).close(http2.constants.NGHTTP2_CANCEL);
    await once(session, "close");
  });
});

/** Streams of any size, and a request of one for `/`. */
const wideRequest = `${preface.slice(0, 24)}\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0${"\0\0\x06\x01\x05\0\0\0\x01\x82\x84\x86\x41\x01a"}`;

describe.each<Kind>(["http2", "http2 over TLS"])("the socket goes with its session, %s,", (kind) => {
  const secure = kind !== "http2";

  function greet(port: number, text: string): Socket {
    const at = { port, host: "127.0.0.1", allowHalfOpen: true };
    const socket = secure ? connectTls({ ...at, rejectUnauthorized: false, ALPNProtocols: ["h2"] }) : connect(at);
    open.push(() => socket.destroy());
    socket.on("error", () => {}).write(text, "latin1");
    return socket;
  }

  test.skipIf(secure && lacks("openssl"))("of who does not read", async () => {
    const limits = { keepaliveMs: shortMs, keepaliveTimeoutMs: shortMs };
    const large = Buffer.alloc(64 * 1024 * 1024);
    const { port, first } = await startSeen(kind, limits, (_, response) => void response.end(large));
    greet(port, wideRequest).pause();
    await closed(await first);
  });

  test.skipIf(secure && lacks("openssl"))("of who was told to go, and keeps its half open", async () => {
    const { port, first } = await startSeen(kind, { idleMs: shortMs });
    greet(port, preface).resume();
    await closed(await first);
  });
});
