/** Bytes in, frames of SPDY/3.1 out, and frames in, bytes out. What is too large or no frame is refused before it is read. */
import type { ByteReader } from "../../lib/index.ts";

export const frameTypes = {
  synStream: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
export const resetReasons = { protocol: 1, refused: 3, cancel: 5 } as const;
const finFlag = 1;
const version = 3;
const synReply = 2;

/** client-go sends at most 32 KiB of data, and a handful of headers. */
const maxDataBytes = 1024 * 1024;
const maxControlBytes = 64 * 1024;

export type SpdyFrame =
  | { readonly type: "data"; readonly stream: number; readonly isLast: boolean; readonly bytes: Buffer }
  | { readonly type: "control"; readonly kind: number; readonly isLast: boolean; readonly bytes: Buffer };

/** Undefined at the end, and for what is no frame: both end the connection. */
export async function readFrame(reader: ByteReader): Promise<SpdyFrame | undefined> {
  const head = await reader.read(8);
  if (!head) return undefined;
  const isControl = (head.readUInt8() & 0x80) !== 0;
  const isLast = (head.readUInt8(4) & finFlag) !== 0;
  const length = head.readUIntBE(5, 3);
  if (length > (isControl ? maxControlBytes : maxDataBytes)) return undefined;
  if (isControl && (head.readUInt16BE() & 0x7fff) !== version) return undefined;
  const bytes = await reader.read(length);
  if (!bytes) return undefined;
  return isControl
    ? { type: "control", kind: head.readUInt16BE(2), isLast, bytes }
    : { type: "data", stream: head.readUInt32BE(), isLast, bytes };
}

/** The id that most control frames begin with. */
export function idIn(bytes: Buffer): number {
  return bytes.length < 4 ? 0 : bytes.readUInt32BE() & 0x7fff_ffff;
}

export function dataFrame(stream: number, bytes: Buffer, isLast: boolean): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(stream);
  head.writeUInt8(isLast ? finFlag : 0, 4);
  head.writeUIntBE(bytes.length, 5, 3);
  return Buffer.concat([head, bytes]);
}

function controlFrame(kind: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8000 | version);
  head.writeUInt16BE(kind, 2);
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32BE(value, i * 4);
  });
  return bytes;
}

export const resetFrame = (stream: number, reason: number): Buffer =>
  controlFrame(frameTypes.reset, numbers(stream, reason));

export const pingFrame = (id: number): Buffer => controlFrame(frameTypes.ping, numbers(id));

/**
 * No headers, unpacked: a stored block of a zlib stream that begins with the first reply, then an empty one, which makes
 * the reader hand out what it has.
 */
const zlibHead = Buffer.from([0x78, 0x01]);
const noHeaders = Buffer.from([0x00, 0x04, 0x00, 0xfb, 0xff, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0xff, 0xff]);

export const replyFrame = (stream: number, isFirst: boolean): Buffer =>
  controlFrame(synReply, Buffer.concat([numbers(stream), ...(isFirst ? [zlibHead] : []), noHeaders]));
