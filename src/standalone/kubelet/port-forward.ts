/** The streams of a `kubectl port-forward` in; connections to ports inside the Pod, joined to them, out. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ByteTransport } from "../../lib/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { type SpdyStream, serveSpdy } from "./spdy.ts";

/** A connection to a port of a Pod, as from inside it. */
export type Connect = (port: number) => Promise<Socket>;

/** Two for each connection that is forwarded. */
const maxStreams = 4096;
const pairMs = 30_000;

interface Pair {
  data?: Duplex;
  error?: Duplex;
}

export async function servePortForward(transport: ByteTransport, connect: Connect): Promise<void> {
  const pairs = new Map<string, Pair>();
  const opened = ({ headers, bytes }: SpdyStream): void => {
    const [type, port] = [headers.get("streamtype"), portIn(headers.get("port"))];
    // Clients before Kubernetes 1.3 sent none, and forwarded one connection at a time.
    const id = headers.get("requestid") ?? `port ${port}`;
    const pair = pairs.get(id) ?? {};
    if (port === undefined || (type !== "data" && type !== "error") || pair[type]) {
      bytes.destroy();
      return;
    }
    pair[type] = bytes;
    if (pair.data && pair.error) {
      pairs.delete(id);
      void forward(connect, port, pair.data, pair.error);
      return;
    }
    pairs.set(id, pair);
    const timer = setTimeout(() => {
      if (pairs.get(id) === pair && pairs.delete(id)) bytes.destroy();
    }, pairMs);
    bytes.once("close", () => {
      clearTimeout(timer);
      if (pairs.get(id) === pair) pairs.delete(id);
    });
  };
  await serveSpdy(transport, { maxStreams, opened });
}

function portIn(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

async function forward(connect: Connect, port: number, data: Duplex, error: Duplex): Promise<void> {
  error.resume();
  let socket: Socket;
  try {
    socket = await connect(port);
  } catch (thrown) {
    error.end(`error forwarding port ${port}: ${FairleadError.from(thrown).message}`);
    // Whoever waits for an answer on it must not wait.
    data.resume().end();
    return;
  }
  socket.setNoDelay(true);
  socket.on("error", () => data.destroy());
  data.on("error", () => {}).on("close", () => socket.destroy());
  socket.on("close", () => {
    data.end();
    error.end();
  });
  if (data.destroyed) socket.destroy();
  data.pipe(socket);
  socket.pipe(data);
}
