/**
 * A connection that came over loopback in; whether a process of this Pod other than its Envoy holds the other end out.
 * The address alone does not say so: what Envoy relays for the outside comes from loopback too.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import type { Socket } from "node:net";
import { endianness } from "node:os";
import { isLoopback, parseIp, systemCode } from "../lib/index.ts";

export type OwnPeer = (socket: Socket) => Promise<boolean>;

export interface OwnPeerOptions {
  /** Undefined while none runs. */
  readonly envoyPid: () => number | undefined;
  /** The user that Envoy runs as, which is the agent's own. */
  readonly envoyUid: number;
}

/** Each question reads a table as long as the Pod has connections; whoever asks more at once is refused. */
const maxWaiting = 32;

export function createOwnPeer(options: OwnPeerOptions): OwnPeer {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (socket) => {
    if (waiting >= maxWaiting) return false;
    waiting++;
    const answer = last.then(() => isOwn(socket, options));
    // Where the tables cannot be read nobody is known, and nobody is let in.
    last = answer.catch(() => {});
    return answer.catch(() => false).finally(() => waiting--);
  };
}

async function isOwn(socket: Socket, { envoyPid, envoyUid }: OwnPeerOptions): Promise<boolean> {
  const found = await findPeer(socket);
  if (!found) return false;
  const pid = envoyPid();
  if (pid === undefined || found.uid !== envoyUid) return true;
  if ((await socketsOf(pid)).has(found.inode)) return false;
  // Asked again: Envoy may have closed it between the two tables, and then it was in neither.
  return (await findPeer(socket))?.inode === found.inode;
}

interface PeerSocket {
  readonly uid: number;
  readonly inode: string;
}

/** The other end's socket in this network namespace; none for one that is elsewhere, or that no process holds any more. */
async function findPeer(socket: Socket): Promise<PeerSocket | undefined> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  const [theirs, ours] = [parseIp(remoteAddress ?? ""), parseIp(localAddress ?? "")];
  if (!theirs || !ours || !isLoopback(remoteAddress ?? "")) return undefined;
  for (const [table, form] of [
    ["tcp", unmapped],
    ["tcp6", mapped],
  ] as const) {
    const ends = `: ${formatEnd(form(theirs), remotePort)} ${formatEnd(form(ours), localPort)} `;
    const text = await readFile(`/proc/self/net/${table}`, "latin1");
    const at = text.indexOf(ends);
    if (at < 0) continue;
    // State, queues, timer, retransmissions, user, timeout, inode.
    const [, , , , uid = "", , inode = "0"] = text.slice(at + ends.length, text.indexOf("\n", at)).split(/ +/, 7);
    return inode === "0" ? undefined : { uid: Number(uid), inode };
  }
  return undefined;
}

const mappedPrefix = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

function mapped(address: Uint8Array): Uint8Array {
  return address.length === 16 ? address : Uint8Array.of(...mappedPrefix, ...address);
}

function unmapped(address: Uint8Array): Uint8Array {
  return mappedPrefix.every((byte, i) => address[i] === byte) ? address.subarray(12) : address;
}

/** As the kernel prints it: 32-bit words in the machine's own order. */
function formatEnd(address: Uint8Array, port = 0): string {
  const bytes = Buffer.from(address);
  if (endianness() === "LE") bytes.swap32();
  return `${bytes.toString("hex").toUpperCase()}:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

const atOnce = 256;

async function socketsOf(pid: number): Promise<ReadonlySet<string>> {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder);
  const inodes = new Set<string>();
  for (let at = 0; at < files.length; at += atOnce)
    for (const link of await Promise.all(files.slice(at, at + atOnce).map((file) => linkOf(`${folder}/${file}`))))
      if (link.startsWith("socket:[")) inodes.add(link.slice(8, -1));
  return inodes;
}

/** A file may be closed while the folder is read; that it cannot be looked at is another matter. */
function linkOf(path: string): Promise<string> {
  return readlink(path).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return "";
    throw error;
  });
}
