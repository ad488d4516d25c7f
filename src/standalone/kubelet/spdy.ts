/**
 * A connection on which a client speaks SPDY/3.1 in; each stream that it opens out. Like every client and server of
 * Kubernetes it knows no windows: who does not read makes the whole connection wait.
 */
import { Duplex } from "node:stream";
import { askRegularly, type ByteTransport, createByteReader, usualAskMs } from "../../lib/index.ts";
import {
  dataFrame,
  frameTypes,
  idIn,
  pingFrame,
  readFrame,
  replyFrame,
  resetFrame,
  resetReasons,
  type SpdyFrame,
} from "./spdy-frame.ts";
import { createHeaderReader } from "./spdy-headers.ts";

export interface SpdyStream {
  readonly headers: ReadonlyMap<string, string>;
  /** Destroying it resets the stream, where it has not ended in good order. */
  readonly bytes: Duplex;
}

export interface SpdyOptions {
  readonly maxStreams: number;
  /** How often the client is asked whether it is there. */
  readonly askMs?: number;
  opened(stream: SpdyStream): void;
}

interface Open {
  readonly bytes: Duplex;
  /** Resolves when there is room for more. */
  deliver(data: Buffer, isLast: boolean): Promise<void>;
  reset(): void;
}

const pieceBytes = 64 * 1024;
const bufferBytes = 64 * 1024;

/** Resolves when the connection is over; its streams are then, too. */
export async function serveSpdy(transport: ByteTransport, options: SpdyOptions): Promise<void> {
  const reader = createByteReader(transport.incoming);
  const headers = createHeaderReader();
  const streams = new Map<number, Open>();
  let [lastId, isFirstReply, lastPing] = [0, true, 0];
  // Who waits for a stream to be read does not read, and so does not see the client go.
  const reset = (): void => {
    for (const stream of streams.values()) stream.reset();
  };
  transport.gone.addEventListener("abort", reset, { once: true });
  askRegularly(transport.gone, options.askMs ?? usualAskMs, () => {
    lastPing = (lastPing + 2) & 0x7fff_fffe;
    return transport.send(pingFrame(lastPing));
  });

  const open = async (frame: SpdyFrame & { type: "control" }): Promise<boolean> => {
    const id = idIn(frame.bytes);
    const found = await headers.read(frame.bytes.subarray(10));
    // A client's ids are odd and grow.
    if (!found || id % 2 === 0 || id <= lastId) return false;
    lastId = id;
    if (streams.size >= options.maxStreams) {
      await transport.send(resetFrame(id, resetReasons.refused));
      return true;
    }
    const stream = createStream(id, transport, () => streams.delete(id));
    streams.set(id, stream);
    const reply = replyFrame(id, isFirstReply);
    isFirstReply = false;
    await transport.send(reply);
    if (frame.isLast) await stream.deliver(Buffer.alloc(0), true);
    options.opened({ headers: found, bytes: stream.bytes });
    return true;
  };
  /** False ends the connection. */
  const take = async (frame: SpdyFrame): Promise<boolean> => {
    if (frame.type === "data") {
      await streams.get(frame.stream)?.deliver(frame.bytes, frame.isLast);
      return true;
    }
    switch (frame.kind) {
      case frameTypes.synStream:
        return await open(frame);
      case frameTypes.headers:
        return (await headers.read(frame.bytes.subarray(4))) !== undefined;
      case frameTypes.reset:
        streams.get(idIn(frame.bytes))?.reset();
        return true;
      case frameTypes.ping:
        // Those of a client are odd; others are answers to ours.
        if (idIn(frame.bytes) % 2 === 1) await transport.send(pingFrame(idIn(frame.bytes)));
        return true;
      case frameTypes.settings:
      case frameTypes.goAway:
      case frameTypes.windowUpdate:
        return true;
      default:
        return false;
    }
  };
  try {
    for (let frame = await readFrame(reader); frame && (await take(frame)); ) frame = await readFrame(reader);
  } finally {
    reset();
    headers.close();
    transport.close();
  }
}

function createStream(id: number, transport: ByteTransport, closed: () => void): Open {
  let wanted: (() => void) | undefined;
  const state = { hasEnded: false, isFinished: false };
  const bytes = new Duplex({
    readableHighWaterMark: bufferBytes,
    writableHighWaterMark: bufferBytes,
    read() {
      wanted?.();
      wanted = undefined;
    },
    write(chunk: Buffer, _encoding, done) {
      void sendPieces(transport, id, chunk).then(() => done());
    },
    final(done) {
      state.isFinished = true;
      void transport.send(dataFrame(id, Buffer.alloc(0), true)).then(() => done());
    },
    destroy(error, done) {
      wanted?.();
      closed();
      if (!state.hasEnded || !state.isFinished) void transport.send(resetFrame(id, resetReasons.cancel));
      done(error);
    },
  });
  bytes.on("error", () => {});
  return {
    bytes,
    async deliver(data, isLast) {
      if (state.hasEnded || bytes.destroyed) return;
      state.hasEnded = isLast;
      const hasRoom = data.length === 0 || bytes.push(data);
      if (isLast) bytes.push(null);
      else if (!hasRoom)
        await new Promise<void>((resolve) => {
          wanted = resolve;
        });
    },
    reset() {
      [state.hasEnded, state.isFinished] = [true, true];
      bytes.destroy();
    },
  };
}

async function sendPieces(transport: ByteTransport, id: number, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; at += pieceBytes)
    await transport.send(dataFrame(id, chunk.subarray(at, at + pieceBytes), false));
}
