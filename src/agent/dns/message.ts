/** The bytes of a DNS question in, what is asked out; an answer in, its bytes, cut to what the asker takes, out. */
import { type Answer, decode, encode, type Packet } from "dns-packet";

export interface Query {
  /** Lower case, without the final dot. */
  readonly name: string;
  readonly type: string;
  readonly packet: Packet;
  readonly bytes: Buffer;
}

export interface Reply {
  readonly code: "ok" | "no-such-name" | "failed" | "refused";
  readonly answers: readonly Answer[];
}

const codes: Readonly<Record<Reply["code"], number>> = { ok: 0, failed: 2, "no-such-name": 3, refused: 5 };
const recursionDesired = 0x0100;
const authoritative = 0x0400;
const recursionAvailable = 0x0080;
const truncated = 0x0200;

/** What every client takes over UDP; more only where it says so. */
const smallestUdp = 512;
const largestUdp = 4096;

/** Undefined for what is no question: it is not answered. */
export function parseQuery(bytes: Buffer): Query | undefined {
  try {
    const packet = decode(bytes);
    const question = packet.questions?.[0];
    if (packet.type !== "query" || !question) return undefined;
    return { name: question.name.toLowerCase().replace(/\.$/, ""), type: question.type, packet, bytes };
  } catch {
    return undefined;
  }
}

export function udpSize({ packet }: Query): number {
  const edns = packet.additionals?.find((record) => record.type === "OPT");
  const asked = edns?.type === "OPT" ? (edns.udpPayloadSize ?? smallestUdp) : smallestUdp;
  return Math.min(largestUdp, Math.max(smallestUdp, asked));
}

/** An answer that does not fit is left out, with the word to ask again over TCP. */
export function encodeReply(query: Query, reply: Reply, maxBytes: number): Buffer {
  const whole = build(query, reply.answers, codes[reply.code]);
  return whole.length <= maxBytes ? whole : build(query, [], codes[reply.code] | truncated);
}

function build({ packet }: Query, answers: readonly Answer[], verdict: number): Buffer {
  const hasEdns = packet.additionals?.some((record) => record.type === "OPT") ?? false;
  const edns: Answer = {
    type: "OPT",
    name: ".",
    udpPayloadSize: largestUdp,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  return encode({
    type: "response",
    id: packet.id ?? 0,
    flags: ((packet.flags ?? 0) & recursionDesired) | authoritative | recursionAvailable | verdict,
    questions: packet.questions?.slice(0, 1) ?? [],
    answers: [...answers],
    additionals: hasEdns ? [edns] : [],
  });
}
