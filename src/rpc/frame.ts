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
  /** Where one message is all there is: its end is waited for no longer either. */
  readonly untilEnd?: boolean;
}

/** Whole messages, inflated where compressed. A message past the cap is refused before it is buffered. */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const buffer = createBuffer();
  const iterator = chunks[Symbol.asyncIterator]();
  let need = headerBytes;
  let header: { compressed: boolean } | undefined;
  let due = true;
  for (;;) {
    const next = await within(iterator.next(), due || header || buffer.size() > 0 ? options.stallMs : undefined);
    if (next.done) break;
    due = options.untilEnd === true;
    buffer.push(next.value);
    for (let part = buffer.take(need); part; part = buffer.take(need)) {
      if (header) {
        yield header.compressed ? await inflated(part, options) : part;
        header = undefined;
        need = headerBytes;
      } else {
        header = { compressed: readFlag(part) };
        need = readLength(part, options.maxBytes);
      }
    }
  }
  if (header || buffer.size() > 0) throw new RpcError(status.internal, "the stream ended inside a message");
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

/** Grows by doubling, so that a message sent in one-byte frames costs its own size and not an object a byte. */
function createBuffer() {
  let bytes: Uint8Array = new Uint8Array(0);
  let start = 0;
  let end = 0;
  return {
    size: () => end - start,
    push(chunk: Uint8Array): void {
      if (start === end) {
        bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
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
      return bytes.subarray(start - count, start);
    },
  };
}

function readFlag(header: Uint8Array): boolean {
  const flag = header[0];
  if (flag !== 0 && flag !== 1) throw new RpcError(status.internal, "a message has an unknown compression flag");
  return flag === 1;
}

function readLength(header: Uint8Array, maxBytes: number): number {
  const length = new DataView(header.buffer, header.byteOffset).getUint32(1);
  if (length > maxBytes)
    throw new RpcError(status.resourceExhausted, `a message has ${length} bytes; at most ${maxBytes} are accepted`);
  return length;
}

async function inflated(bytes: Uint8Array, options: ReadOptions): Promise<Uint8Array> {
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

/** One message as chunks of at most 64 KB, made one by one as the stream takes them. */
export function* messageChunks(payload: Payload): Generator<Uint8Array> {
  let gathered: Uint8Array[] = [frameHeader(payload.reduce((sum, piece) => sum + piece.length, 0))];
  let size = headerBytes;
  for (const piece of payload) {
    if (piece.length === 0) continue;
    if (size + piece.length > chunkBytes || piece.length >= directBytes) {
      if (size > 0) yield join(gathered, size);
      gathered = [];
      size = 0;
    }
    if (piece.length >= directBytes) {
      for (let at = 0; at < piece.length; at += chunkBytes) yield piece.subarray(at, at + chunkBytes);
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
