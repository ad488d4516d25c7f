/** Bytes of a WebSocket's other side in, its messages out, and the other way round: RFC 6455, whole messages. */
import { createHash, randomBytes } from "node:crypto";
import { type ByteReader, type ByteTransport, createByteReader } from "./byte-transport.ts";

/** kubectl sends 32 KiB at a time. */
const maxMessageBytes = 1024 * 1024;
const maxPieces = 1024;
const maxControlBytes = 125;
const closeMs = 10_000;
/** What is sent to a client that is gone is answered with a reset. */
export const usualAskMs = 15_000;

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const closeCodes = { normal: 1000, protocol: 1002, tooLarge: 1009 } as const;

/** The answer to a client's `Sec-WebSocket-Key`. */
export function acceptKey(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

interface Frame {
  readonly isLast: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Which side this is: only what clients send is masked. */
export type WebSocketRole = "server" | "client";

/**
 * Each piece of `incoming` is a message; each `send` is one. A server that waits for somebody else to take what has come
 * does not read, and would never see its client go: it asks now and then.
 */
export function openWebSocket(
  under: ByteTransport,
  role: WebSocketRole = "server",
  askMs: number = usualAskMs,
): ByteTransport {
  const write = (opcode: number, payload: Buffer): Promise<void> => under.send(encode(opcode, payload, role));
  let isClosed = false;
  const end = async (code: number): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    // Who does not read is not waited for.
    const timer = setTimeout(under.close, closeMs);
    await write(opcodes.close, payload);
    clearTimeout(timer);
    under.close();
  };
  if (role === "server") askRegularly(under.gone, askMs, () => write(opcodes.ping, Buffer.alloc(0)));

  async function* messages(): AsyncIterable<Buffer> {
    const reader = createByteReader(under.incoming);
    const parts: Buffer[] = [];
    let held = 0;
    for (;;) {
      const frame = await readFrame(reader, maxMessageBytes - held, role);
      if (frame === undefined) return under.close();
      if (typeof frame === "number") return await end(frame);
      if (frame.opcode === opcodes.close) return await end(closeCodes.normal);
      if (frame.opcode === opcodes.ping) await write(opcodes.pong, frame.payload);
      if (frame.opcode >= opcodes.close) continue;
      if ((frame.opcode === opcodes.continuation) !== parts.length > 0) return await end(closeCodes.protocol);
      // Pieces without a byte would never fill a message.
      if (parts.length >= maxPieces) return await end(closeCodes.tooLarge);
      parts.push(frame.payload);
      held += frame.payload.length;
      if (!frame.isLast) continue;
      held = 0;
      yield Buffer.concat(parts.splice(0));
    }
  }
  return {
    gone: under.gone,
    incoming: messages(),
    send: (bytes) => (isClosed ? Promise.resolve() : write(opcodes.binary, bytes)),
    close: () => void end(closeCodes.normal),
  };
}

/** Until it is gone; not while the last question is not out yet. */
export function askRegularly(gone: AbortSignal, everyMs: number, ask: () => Promise<void>): void {
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    void ask().finally(() => {
      isAsking = false;
    });
  }, everyMs).unref();
  gone.addEventListener("abort", () => clearInterval(timer), { once: true });
  if (gone.aborted) clearInterval(timer);
}

/** A number is the reason to close for. */
async function readFrame(reader: ByteReader, room: number, role: WebSocketRole): Promise<Frame | number | undefined> {
  const head = await reader.read(2);
  if (!head) return undefined;
  const [first = 0, second = 0] = head;
  const opcode = first & 0x0f;
  const isLast = (first & 0x80) !== 0;
  const length = await readLength(reader, second & 0x7f);
  if (length === undefined) return undefined;
  const isControl = opcode >= opcodes.close;
  const isKnown = opcode <= opcodes.binary || (isControl && opcode <= opcodes.pong);
  const isMasked = (second & 0x80) !== 0;
  if (!isKnown || isMasked !== (role === "server") || (first & 0x70) !== 0) return closeCodes.protocol;
  if (isControl && (!isLast || length > maxControlBytes)) return closeCodes.protocol;
  if (length > room) return closeCodes.tooLarge;
  const mask = isMasked ? await reader.read(4) : noMask;
  const masked = await reader.read(length);
  return mask && masked && { isLast, opcode, payload: isMasked ? applyMask(masked, mask) : masked };
}

async function readLength(reader: ByteReader, short: number): Promise<number | undefined> {
  if (short < 126) return short;
  if (short === 126) return (await reader.read(2))?.readUInt16BE();
  const long = await reader.read(8);
  return long && Number(long.readBigUInt64BE());
}

/** Puts it on, and takes it off. */
function applyMask(bytes: Buffer, mask: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length);
  for (let i = 0; i < bytes.length; i++) out[i] = (bytes[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return out;
}

const noMask = Buffer.alloc(4);

function encode(opcode: number, payload: Buffer, role: WebSocketRole): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  if (role === "server") return Buffer.concat([head, payload]);
  head[1] = (head[1] ?? 0) | 0x80;
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, applyMask(payload, mask)]);
}
