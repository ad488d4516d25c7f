/** Connections by who they come from in; whether another one is admitted out. */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { isLoopback, parseIp } from "./ip.ts";

export interface Clients {
  /** False for one too many, and for a client that is banned. */
  admit(socket: Socket): boolean;
  /** Ends all that this client has, and admits it no more for a while. */
  ban(socket: Socket): void;
}

const banMs = 600_000;
const maxBans = 10_000;

export function createClients(maxPerClient: number): Clients {
  const clients = new Map<string, Set<Socket>>();
  const bans = new Map<string, number>();

  function isBanned(client: string): boolean {
    const until = bans.get(client);
    if (until === undefined) return false;
    if (performance.now() < until) return true;
    bans.delete(client);
    return false;
  }

  return {
    admit(socket) {
      const client = clientOf(socket);
      if (client === undefined) return true;
      const held = clients.get(client) ?? new Set<Socket>();
      if (held.size >= maxPerClient || isBanned(client)) return false;
      clients.set(client, held.add(socket));
      socket.once("close", () => {
        held.delete(socket);
        if (held.size === 0 && clients.get(client) === held) clients.delete(client);
      });
      return true;
    },
    ban(socket) {
      // On the own machine everybody has one address.
      const client = isLoopback(socket.remoteAddress ?? "") ? undefined : clientOf(socket);
      socket.destroy();
      if (client === undefined) return;
      const [oldest] = bans.keys();
      if (bans.size >= maxBans && oldest !== undefined) bans.delete(oldest);
      bans.set(client, performance.now() + banMs);
      for (const one of clients.get(client) ?? []) one.destroy();
    },
  };
}

/** One address, or one network where addresses cost nothing; undefined on a unix socket. */
function clientOf(socket: Socket): string | undefined {
  const address = parseIp((socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, ""));
  return address && Buffer.from(address.length === 16 ? address.subarray(0, 8) : address).toString("hex");
}

/** A leaf of RSA-4096 under three intermediates of the same has half of it. */
const maxChainBytes = 16 * 1024;
const maxChainLength = 10;

/**
 * Whether a client has shown more certificates than anybody needs. OpenSSL has looked at all of them by then, on our one
 * thread and without a bound that we could set: 100 KB of keys with 16,384 bits take it half a second.
 */
export function isChainTooLong(socket: TLSSocket): boolean {
  let size = 0;
  let length = 0;
  let certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  while (certificate) {
    size += certificate.raw.length;
    if (++length > maxChainLength || size > maxChainBytes) return true;
    const issuer: X509Certificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return false;
}
