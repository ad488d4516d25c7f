/** The process inside a Pod: plays its application, and sends what it is told; orders from its parent in, answers out. */
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";
import type { PodAnswer, PodOrder, ServeOrder } from "./pod.ts";

const quietMs = 400;
const limitMs = 8_000;
const silence = (): void => {};

function serve({ name, cert, key, address, ports }: ServeOrder): Promise<PodAnswer> {
  const answer: http.RequestListener = (_request, response) => response.writeHead(200, { "x-pod": name }).end(name);
  const plain = http.createServer(answer);
  const secure = https.createServer({ cert, key }, answer);
  const raw = (): net.Server =>
    net.createServer((socket) => socket.on("data", () => socket.end(name)).on("error", silence));
  // Whatever comes: HTTP gets HTTP, anything else the name.
  const any = net.createServer((socket) =>
    socket.on("error", silence).once("data", (first) => {
      if (!/^[A-Z]+ \S+ HTTP\/1/.test(first.toString("latin1"))) return socket.end(name);
      socket.end(
        `HTTP/1.1 200 OK\r\nx-pod: ${name}\r\ncontent-length: ${name.length}\r\nconnection: close\r\n\r\n${name}`,
      );
    }),
  );
  const grpc = http2.createServer();
  grpc.on("stream", (stream) => {
    stream.on("error", silence);
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.respond({ ":status": 200, "content-type": "application/grpc", "x-pod": name }, { waitForTrailers: true });
    stream.end();
  });
  const servers = [
    [plain, ports.http],
    [secure, ports.https],
    ...ports.tcp.map((port) => [raw(), port] as const),
    [any, ports.any],
    [grpc, ports.grpc],
  ] as const;
  return Promise.all(
    servers.map(([server, port]) => new Promise<void>((resolve) => server.listen(port, address, resolve))),
  ).then(() => ({ kind: "serving" }));
}

type SendOrder = Exclude<PodOrder, ServeOrder>;

function sendHttp(order: Extract<SendOrder, { kind: "http" }>): Promise<PodAnswer> {
  return new Promise((resolve) => {
    let localPort = 0;
    const options = {
      host: order.address,
      port: order.port,
      path: order.path,
      method: order.method,
      headers: { host: order.host, ...order.headers },
      agent: false as const,
      timeout: limitMs,
      ...(order.sni === undefined ? {} : { servername: order.sni, rejectUnauthorized: false }),
    };
    const request = (order.sni === undefined ? http : https).request(options, (response) => {
      response.resume().on("end", () =>
        resolve({
          kind: "http",
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          localPort,
          error: "",
        }),
      );
      response.on("error", (error) =>
        resolve({ kind: "http", status: 0, headers: {}, localPort, error: error.message }),
      );
    });
    request.on("socket", (socket) =>
      socket.on("connect", () => {
        localPort = socket.localPort ?? 0;
      }),
    );
    request.on("timeout", () => request.destroy(new Error("timed out")));
    request.on("error", (error) => resolve({ kind: "http", status: 0, headers: {}, localPort, error: error.message }));
    request.end();
  });
}

function sendGrpc(order: Extract<SendOrder, { kind: "grpc" }>): Promise<PodAnswer> {
  return new Promise((resolve) => {
    const session = http2.connect(`http://${order.address}:${order.port}`);
    let headers: Record<string, string> = {};
    const done = (error: string): void => {
      const localPort = session.socket?.localPort ?? 0;
      session.destroy();
      resolve({ kind: "http", status: Number(headers[":status"] ?? 0), headers, localPort, error });
    };
    session.on("error", (error) => done(error.message));
    const stream = session.request({
      ":method": "POST",
      ":path": order.path,
      ":authority": order.host,
      "content-type": "application/grpc",
      te: "trailers",
      ...order.headers,
    });
    stream.on("response", (got) => {
      headers = { ...headers, ...(got as Record<string, string>) };
    });
    stream.on("trailers", (got) => {
      headers = { ...headers, ...(got as unknown as Record<string, string>) };
    });
    stream.on("error", (error) => done(error.message));
    stream.on("close", () => done(""));
    stream.setTimeout(limitMs, () => done("timed out"));
    stream.resume().end();
  });
}

function sendBytes(order: Extract<SendOrder, { kind: "tcp" }>): Promise<PodAnswer> {
  return new Promise((resolve) => {
    let received = "";
    const place = { host: order.address, port: order.port };
    const socket =
      order.sni === undefined
        ? net.connect(place)
        : tls.connect({ ...place, servername: order.sni, rejectUnauthorized: false });
    let localPort = 0;
    const done = (error = ""): void => {
      socket.destroy();
      resolve({ kind: "tcp", received, error, localPort });
    };
    socket.once(order.sni === undefined ? "connect" : "secureConnect", () => {
      localPort = socket.localPort ?? 0;
      socket.write(order.send);
      socket.setTimeout(quietMs * 5);
    });
    socket.setTimeout(limitMs, () => done("silent"));
    socket.on("connect", () => {
      localPort = socket.localPort ?? 0;
    });
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", (error) => done(error.message));
    socket.on("close", () => done());
  });
}

process.on("message", ({ id, order }: { id: number; order: PodOrder }) => {
  const work =
    order.kind === "serve"
      ? serve(order)
      : order.kind === "http"
        ? sendHttp(order)
        : order.kind === "grpc"
          ? sendGrpc(order)
          : sendBytes(order);
  void work.then((answer) => process.send?.({ id, answer }));
});
process.on("disconnect", () => process.exit(0));
