/** Who is at the other end of a session: address and, with TLS, the certificate and whether it was verified. */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { clientOf } from "../lib/index.ts";

export interface Peer {
  /** `address:port`, or `unix` for a local socket. */
  readonly address: string;
  /** The address alone, or its network where addresses cost nothing; undefined for a local socket. */
  readonly client: string | undefined;
  readonly tls: PeerTls | undefined;
}

export interface PeerTls {
  /** True only for a client certificate that chains to the configured roots. */
  readonly verified: boolean;
  readonly certificate: X509Certificate | undefined;
  /** URI SANs of a verified certificate; empty for any other. */
  readonly uris: readonly string[];
}

export function peerOf(socket: Socket): Peer {
  const address = socket.remoteAddress ? `${socket.remoteAddress}:${socket.remotePort ?? 0}` : "unix";
  const client = clientOf(socket);
  if (!(socket instanceof TLSSocket)) return { address, client, tls: undefined };
  const certificate = socket.getPeerX509Certificate();
  const verified = certificate !== undefined && socket.authorized;
  return {
    address,
    client,
    tls: { verified, certificate, uris: verified ? uriNames(certificate.subjectAltName ?? "") : [] },
  };
}

/** Types of names as Node prints them. What is of others, such as `othername`, is nobody whom a mesh's CA has named. */
const knownTypes: ReadonlySet<string> = new Set(["URI", "DNS", "IP Address", "email"]);

/**
 * Node prints SANs as `TYPE:value, TYPE:value` and puts a value with special characters into JSON quotes (the fix of
 * CVE-2021-44532), so a comma inside a name cannot pass for a second name. A certificate with such a value, a zero byte for
 * one, has no names at all.
 */
export function uriNames(text: string): string[] {
  const out: string[] = [];
  for (let at = 0; at < text.length; ) {
    const colon = text.indexOf(":", at);
    if (colon < 0) return [];
    const type = text.slice(at, colon);
    if (!knownTypes.has(type) || text[colon + 1] === '"') return [];
    const end = text.indexOf(", ", colon);
    const stop = end < 0 ? text.length : end;
    if (type === "URI") out.push(text.slice(colon + 1, stop));
    at = stop + 2;
  }
  return out;
}
