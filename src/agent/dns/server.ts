/** Addresses to listen on and a way to answer in; a DNS server over UDP and TCP out. */
import { createSocket, type Socket } from "node:dgram";
import { createServer, isIPv6, type Server, type Socket as TcpSocket } from "node:net";
import {
  drained,
  FairleadError,
  guardConnections,
  type Logger,
  type Overload,
  systemCode,
  webLimits,
} from "../../lib/index.ts";
import { parseQuery, type Query, udpSize } from "./message.ts";

export interface DnsServerOptions {
  readonly addresses: readonly string[];
  /** Zero takes any that is free. */
  readonly port: number;
  /** The bytes of the answer, at most so many; undefined for none. */
  readonly answer: (query: Query, protocol: "udp" | "tcp", maxBytes: number) => Promise<Buffer | undefined>;
  readonly log: Logger;
  readonly overload?: Overload | undefined;
}

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

const largestTcp = 65_535;
const idleMs = 10_000;
/** Nobody needs more than a few; each that is open costs memory. */
const limits = { ...webLimits, maxConnections: 256, maxPerClient: 128 };

export async function createDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  // A port that is free for UDP may be taken for TCP: where any will do, another one is tried.
  for (let tries = 0; ; tries++)
    try {
      return await bindAll(options);
    } catch (error) {
      const inUse = error instanceof FairleadError && error.code === "port-in-use";
      if (!inUse || options.port !== 0 || tries === 10) throw error;
    }
}

async function bindAll(options: DnsServerOptions): Promise<DnsServer> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(closers.splice(0).map((one) => one()));
  };
  let { port } = options;
  try {
    for (const address of options.addresses) {
      const udp = await bindUdp(address, port, options);
      closers.push(() => new Promise((resolve) => udp.close(() => resolve())));
      port = udp.address().port;
      closers.push(await listenTcp(address, port, options));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { port, close };
}

function bindUdp(address: string, port: number, options: DnsServerOptions): Promise<Socket> {
  const udp = createSocket({ type: isIPv6(address) ? "udp6" : "udp4", ipv6Only: isIPv6(address) });
  udp.on("message", (data, peer) => {
    const query = parseQuery(data);
    if (!query) return;
    options
      .answer(query, "udp", udpSize(query))
      .then((reply) => reply && udp.send(reply, peer.port, peer.address))
      .catch((error: unknown) => options.log.debug(`dns: ${String(error)}`));
  });
  return new Promise((resolve, reject) => {
    const refused = (cause: Error): void => reject(cannotListen(address, port, cause));
    udp.once("error", refused);
    udp.bind(port, address, () => {
      udp.off("error", refused);
      udp.on("error", (error) => options.log.warn(`dns: ${error.message}`));
      resolve(udp);
    });
  });
}

function listenTcp(address: string, port: number, options: DnsServerOptions): Promise<() => Promise<void>> {
  const server: Server = createServer((socket) => serveConnection(socket, options));
  const connections = guardConnections(server, limits, options.overload);
  return new Promise((resolve, reject) => {
    const refused = (cause: Error): void => reject(cannotListen(address, port, cause));
    server.once("error", refused);
    server.listen(port, address, () => {
      server.off("error", refused);
      server.on("error", (error) => options.log.warn(`dns: ${error.message}`));
      resolve(async () => {
        const closed = new Promise<void>((done) => server.close(() => done()));
        // Whoever has asked and not gone would be waited for.
        connections.destroyAll();
        await closed;
      });
    });
  });
}

function serveConnection(socket: TcpSocket, options: DnsServerOptions): void {
  socket.setTimeout(idleMs, () => socket.destroy());
  answerAll(socket, options).catch(() => void socket.destroy());
}

/** One after the other, and none while answers wait to be read: who asks and does not listen is not heard. */
async function answerAll(socket: TcpSocket, options: DnsServerOptions): Promise<void> {
  let buffered = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      const end = 2 + buffered.readUInt16BE(0);
      const query = parseQuery(buffered.subarray(2, end));
      buffered = buffered.subarray(end);
      const reply = query && (await options.answer(query, "tcp", largestTcp));
      if (reply) await send(socket, reply);
      if (socket.destroyed) return;
    }
  }
  socket.end();
}

async function send(socket: TcpSocket, reply: Buffer): Promise<void> {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(reply.length);
  if (!socket.destroyed && !socket.write(Buffer.concat([head, reply]))) await drained(socket);
}

function cannotListen(address: string, port: number, cause: Error): FairleadError {
  const code = systemCode(cause) === "EADDRINUSE" ? "port-in-use" : "no-permission";
  return new FairleadError(code, `DNS cannot listen on ${address}:${port}: ${cause.message}`, { cause });
}
