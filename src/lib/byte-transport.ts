/** A socket in; bytes both ways, with back-pressure, out: what the protocols of kubectl's streams are spoken over. */
import type { Duplex } from "node:stream";

export interface ByteTransport {
  /** Ends when the other side has ended, or the connection is gone. */
  readonly incoming: AsyncIterable<Buffer>;
  /** Resolves when it is out, or the connection is gone. */
  send(bytes: Buffer): Promise<void>;
  close(): void;
  /** The connection is gone, also where nobody reads and so comes to its end. */
  readonly gone: AbortSignal;
}

/** `head` is what came with the request that the connection began with. */
export function socketTransport(socket: Duplex, head: Buffer): ByteTransport {
  socket.on("error", () => {});
  const gone = new AbortController();
  if (socket.destroyed) gone.abort();
  else socket.once("close", () => gone.abort());
  return {
    gone: gone.signal,
    incoming: bytesOf(socket, head),
    send: (bytes) =>
      new Promise((resolve) => {
        if (socket.destroyed || socket.writableEnded) resolve();
        else socket.write(bytes, () => resolve());
      }),
    close: () => void socket.destroy(),
  };
}

async function* bytesOf(socket: Duplex, head: Buffer): AsyncIterable<Buffer> {
  if (head.length > 0) yield head;
  try {
    yield* socket as AsyncIterable<Buffer>;
  } catch {
    // A connection that was reset has ended.
  }
}

export interface ByteReader {
  /** Exactly so many bytes; undefined when the source ends before. */
  read(count: number): Promise<Buffer | undefined>;
}

export function createByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const pieces = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  return {
    async read(count) {
      const parts = [held];
      for (let size = held.length; size < count; ) {
        const { value, done } = await pieces.next();
        if (done) return undefined;
        parts.push(value);
        size += value.length;
      }
      const all = parts.length === 1 ? held : Buffer.concat(parts);
      held = all.subarray(count);
      return all.subarray(0, count);
    },
  };
}
