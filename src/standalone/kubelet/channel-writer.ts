/** A channel of a WebSocket in; a stream whose pieces are messages on it out. */
import { Writable } from "node:stream";
import type { ByteTransport } from "../../lib/index.ts";

const pieceBytes = 32 * 1024;

export function channelWriter(transport: ByteTransport, channel: number): Writable {
  const send = async (bytes: Buffer): Promise<void> => {
    for (let at = 0; at < bytes.length; at += pieceBytes)
      await transport.send(Buffer.concat([Buffer.from([channel]), bytes.subarray(at, at + pieceBytes)]));
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      void send(chunk).then(() => done());
    },
  });
}
