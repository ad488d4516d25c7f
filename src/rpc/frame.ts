/** gRPC's length-prefixed messages: chunks of a stream in, whole messages out, bounded; and pieces in, chunks out. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Payload } from "./method.ts";
import { RpcError, status } from "./status.ts";

const inflate = promisify(gunzip);

const headerBytes = 5;

/** TLS copies what it is given at once, so a chunk is what one stream holds in memory beyond the shared bytes. */
const chunkBytes = 64 * 1024;

/** Pieces from this size on are written as they are; smaller ones are gathered, as thousands of tiny writes cost more. */
const directBytes = 16 * 1024;

export interface ReadOptions {
  readonly maxBytes: number;
  readonly encoding: string | undefined;
  /** How long the first message may be waited for, and each next piece of one that has begun. */
  readonly stallMs?: number;
}

/** Whole messages, inflated where compressed. A message past the cap is refused before it is buffered. */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const frames = createFrames(options.maxBytes);
  const iterator = chunks[Symbol.asyncIterator]();
  let due = true;
  for (;;) {
    const next = await within(iterator.next(), due || frames.isInside() ? options.stallMs : undefined);
    if (next.done) break;
    due = false;
    frames.push(next.value);
    for (let frame = frames.take(); frame; frame = frames.take())
      yield frame.compressed ? await inflated(frame.bytes, options) : frame.bytes;
  }
  frames.end();
}

export interface Frame {
  readonly compressed: boolean;
  readonly bytes: Uint8Array;
}

export interface Frames {
  push(chunk: Uint8Array): void;
  /** The next message, once all of it is there. */
  take(): Frame | undefined;
  /** Whether part of a message is there. */
  isInside(): boolean;
  /** What is held of messages that were not taken. */
  size(): number;
  /** Throws where the stream ends inside a message. */
  end(): void;
}

/** Throws an RpcError for what is no gRPC message, or too large a one. */
export function createFrames(maxBytes: number): Frames {
  const buffer = createBuffer();
  let header: { readonly compressed: boolean; readonly length: number } | undefined;
  const isInside = (): boolean => header !== undefined || buffer.size() > 0;
  return {
    push: buffer.push,
    take() {
      if (!header) {
        if (buffer.size() < headerBytes) return undefined;
        // Read where it is: a fleet answers each response with a message of some bytes, and a view of its header costs as much.
        const flag = buffer.byte();
        const length = ((buffer.byte() * 256 + buffer.byte()) * 256 + buffer.byte()) * 256 + buffer.byte();
        header = { compressed: readFlag(flag), length: checkedLength(length, maxBytes) };
      }
      const bytes = buffer.take(header.length);
      if (!bytes) return undefined;
      const { compressed } = header;
      header = undefined;
      return { compressed, bytes };
    },
    isInside,
    size: buffer.size,
    end() {
      if (isInside()) throw new RpcError(status.internal, "the stream ended inside a message");
    },
  };
}

async function within<T>(result: Promise<T>, ms: number | undefined): Promise<T> {
  if (ms === undefined) return await result;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new RpcError(status.deadlineExceeded, `no message came within ${ms / 1000} s`)),
    ms,
  );
  try {
    return await Promise.race([result, late.promise]);
  } finally {
    clearTimeout(timer);
    // The stream's own end comes later, and nobody waits for it any more.
    result.catch(() => {});
  }
}

const nothing: Uint8Array = new Uint8Array(0);

/** Grows by doubling, so that a message sent in one-byte frames costs its own size and not an object a byte. */
function createBuffer() {
  let bytes = nothing;
  let start = 0;
  let end = 0;
  return {
    size: () => end - start,
    /** The next one; there must be one. */
    byte(): number {
      return bytes[start++] ?? 0;
    },
    push(chunk: Uint8Array): void {
      if (start === end) {
        bytes = chunk;
        start = 0;
        end = chunk.length;
        return;
      }
      const size = end - start + chunk.length;
      if (end + chunk.length > bytes.length) {
        const larger = new Uint8Array(size * 2);
        larger.set(bytes.subarray(start, end));
        end -= start;
        start = 0;
        bytes = larger;
      }
      bytes.set(chunk, end);
      end += chunk.length;
    },
    take(count: number): Uint8Array | undefined {
      if (end - start < count) return undefined;
      start += count;
      const taken = bytes.subarray(start - count, start);
      // Thousands of streams are silent most of the time: none keeps what it has handed over.
      if (start === end) bytes = nothing;
      return taken;
    },
  };
}

function readFlag(flag: number): boolean {
  if (flag !== 0 && flag !== 1) throw new RpcError(status.internal, "a message has an unknown compression flag");
  return flag === 1;
}

function checkedLength(length: number, maxBytes: number): number {
  if (length > maxBytes)
    throw new RpcError(status.resourceExhausted, `a message has ${length} bytes; at most ${maxBytes} are accepted`);
  return length;
}

export async function inflated(
  bytes: Uint8Array,
  options: Pick<ReadOptions, "maxBytes" | "encoding">,
): Promise<Uint8Array> {
  if (options.encoding !== "gzip")
    throw new RpcError(
      options.encoding === undefined || options.encoding === "identity" ? status.internal : status.unimplemented,
      "a message is compressed, but not with gzip",
    );
  try {
    return await inflate(bytes, { maxOutputLength: Math.max(1, options.maxBytes) });
  } catch (error) {
    const tooLarge = error instanceof RangeError;
    throw new RpcError(
      tooLarge ? status.resourceExhausted : status.internal,
      tooLarge ? `a message inflates past ${options.maxBytes} bytes` : "a message cannot be inflated",
      { cause: error },
    );
  }
}

/** What `messageChunks` does, but for streams that are handed the same small message one after the other it is made once. */
export function createFramer(): (payload: Payload) => Iterable<Uint8Array> {
  let last: { readonly payload: Payload; readonly chunks: Iterable<Uint8Array> } | undefined;
  return (payload) => {
    if (last?.payload === payload) return last.chunks;
    const chunks = messageChunks(payload);
    last = Array.isArray(chunks) ? { payload, chunks } : undefined;
    return chunks;
  };
}

/** One message as chunks of at most 64 KB, made one by one as the stream takes them. */
export function messageChunks(payload: Payload): Iterable<Uint8Array> {
  let size = 0;
  for (let at = 0; at < payload.length; at++) size += payload[at]?.length ?? 0;
  return size < directBytes ? [smallMessage(payload, size)] : largeMessage(payload, size);
}

/** Most are small, and a fleet is sent many of them: one buffer each, and nothing else. */
function smallMessage(payload: Payload, size: number): Uint8Array {
  const message = Buffer.allocUnsafe(headerBytes + size);
  message[0] = 0;
  message.writeUInt32BE(size, 1);
  let at = headerBytes;
  for (const piece of payload) {
    message.set(piece, at);
    at += piece.length;
  }
  return message;
}

function* largeMessage(payload: Payload, length: number): Generator<Uint8Array> {
  let gathered: Uint8Array[] = [frameHeader(length)];
  let size = headerBytes;
  // Some have thousands of pieces: an iterator would make an object for each of them.
  for (let i = 0; i < payload.length; i++) {
    const piece = payload[i];
    if (!piece?.length) continue;
    if (size + piece.length > chunkBytes || piece.length >= directBytes) {
      if (size > 0) yield join(gathered, size);
      gathered = [];
      size = 0;
    }
    if (piece.length >= directBytes) {
      if (piece.length <= chunkBytes) yield piece;
      else for (let at = 0; at < piece.length; at += chunkBytes) yield piece.subarray(at, at + chunkBytes);
    } else {
      gathered.push(piece);
      size += piece.length;
    }
  }
  if (size > 0) yield join(gathered, size);
}

function join(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only ? only : Buffer.concat(pieces, size);
}

function frameHeader(length: number): Uint8Array {
  const header = new Uint8Array(headerBytes);
  new DataView(header.buffer).setUint32(1, length);
  return header;
}
