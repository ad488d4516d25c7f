/** Names of Services and Pods in DNS queries in; their addresses out. Other names are refused, or asked of an upstream. */
import { createSocket, type Socket } from "node:dgram";
import { createServer, type Server, type Socket as TcpSocket } from "node:net";
import { type Answer, decode, encode, type Packet, type Question } from "dns-packet";
import { FairleadError, type Logger } from "../lib/index.ts";

/** Addresses of a name inside the cluster domain; undefined where there is no such name. */
export type Lookup = (name: string) => readonly string[] | undefined;

export interface DnsOptions {
  readonly address: string;
  readonly port: number;
  readonly domain: string;
  readonly lookup: Lookup;
  readonly upstream?: { readonly address: string; readonly port: number };
  readonly log: Logger;
}

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

const servfail = 2;
const nxdomain = 3;
/** Seconds that clients may remember an answer: Pods come and go. */
const ttl = 5;

export async function createDnsServer(options: DnsOptions): Promise<DnsServer> {
  const udp = createSocket("udp4");
  udp.on("error", (error) => options.log.warn(`dns: ${error.message}`));
  udp.on("message", (data, peer) => {
    respond(data, options)
      .then((reply) => reply && udp.send(reply, peer.port, peer.address))
      .catch((error: unknown) => options.log.debug(`dns: ${String(error)}`));
  });
  const port = await bindUdp(udp, options);
  const open = new Set<TcpSocket>();
  const tcp = serveTcp(options, open);
  await new Promise<void>((resolve, reject) => {
    tcp.once("error", reject);
    tcp.listen(port, options.address, resolve);
  }).catch((error: unknown) => {
    udp.close();
    throw error;
  });
  return {
    port,
    async close() {
      await new Promise<void>((resolve) => udp.close(() => resolve()));
      const closed = new Promise<void>((resolve) => tcp.close(() => resolve()));
      // Whoever has asked and not gone would be waited for.
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function bindUdp(udp: Socket, options: DnsOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    udp.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "port-in-use" : "no-permission";
      reject(
        new FairleadError(why, `DNS cannot listen on ${options.address}:${options.port}: ${cause.message}`, { cause }),
      );
    });
    udp.bind(options.port, options.address, () => resolve(udp.address().port));
  });
}

function serveTcp(options: DnsOptions, open: Set<TcpSocket>): Server {
  return createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    let buffered = Buffer.alloc(0);
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
        const length = buffered.readUInt16BE(0);
        const message = buffered.subarray(2, 2 + length);
        buffered = buffered.subarray(2 + length);
        respond(message, options)
          .then((reply) => {
            if (!reply) return;
            const head = Buffer.alloc(2);
            head.writeUInt16BE(reply.length);
            socket.write(Buffer.concat([head, reply]));
          })
          .catch(() => socket.destroy());
      }
    });
  });
}

async function respond(data: Buffer, options: DnsOptions): Promise<Buffer | undefined> {
  let query: Packet;
  try {
    query = decode(data);
  } catch {
    return undefined;
  }
  const question = query.questions?.[0];
  if (query.type !== "query" || !question) return undefined;
  const name = question.name.toLowerCase().replace(/\.$/, "");
  if (!isInside(name, options.domain)) {
    if (options.upstream) return await ask(data, options.upstream);
    return reply(query, question, [], servfail);
  }
  const addresses = options.lookup(name);
  if (!addresses) return reply(query, question, [], nxdomain);
  return reply(query, question, question.type === "A" ? addresses : [], 0);
}

function isInside(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}

function reply(query: Packet, question: Question, addresses: readonly string[], code: number): Buffer {
  const answers: Answer[] = addresses.map((data) => ({ type: "A", name: question.name, ttl, data }));
  // Recursion desired is mirrored; authoritative and recursion available are set; the low bits are the verdict.
  const flags = ((query.flags ?? 0) & 0x0100) | 0x0400 | 0x0080 | code;
  return encode({ type: "response", id: query.id ?? 0, flags, questions: [question], answers });
}

function ask(data: Buffer, upstream: { address: string; port: number }): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    const finish = (answer: Buffer | undefined): void => {
      clearTimeout(timer);
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => finish(undefined), 4_000);
    socket.once("message", finish);
    socket.once("error", () => finish(undefined));
    socket.send(data, upstream.port, upstream.address);
  });
}
