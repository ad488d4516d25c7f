import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { constants, createDeflate } from "node:zlib";
import { expect, test } from "vitest";
import { socketTransport } from "../../lib/index.ts";
import { type SpdyStream, serveSpdy } from "./spdy.ts";
import { spdyDictionary } from "./spdy-dictionary.ts";
import { dataFrame, frameTypes } from "./spdy-frame.ts";
import { socketPair } from "./testing.ts";

interface Peer {
  readonly wire: Duplex;
  readonly streams: SpdyStream[];
  readonly done: Promise<void>;
  pack(block: Buffer): Promise<Buffer>;
}

function connectPeer(maxStreams = 8, [wire, server]: readonly Duplex[] = duplexPair(), askMs = 600_000): Peer {
  if (!wire || !server) throw new Error("no connection");
  const streams: SpdyStream[] = [];
  const packer = createDeflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });
  const packed: Buffer[] = [];
  packer.on("data", (piece: Buffer) => packed.push(piece));
  const opened = (stream: SpdyStream): number => streams.push(stream);
  return {
    wire,
    streams,
    done: serveSpdy(socketTransport(server, Buffer.alloc(0)), { maxStreams, askMs, opened }),
    async pack(block) {
      await new Promise((resolve) => packer.write(block, resolve));
      return Buffer.concat(packed.splice(0));
    },
  };
}

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([number(value.length), Buffer.from(value)]);
const block = (pairs: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat([
    number(Object.keys(pairs).length),
    ...Object.entries(pairs).flatMap(([name, value]) => [text(name), text(value)]),
  ]);
const control = (kind: number, payload: Buffer, length = payload.length): Buffer => {
  const head = Buffer.from([0x80, 3, 0, kind, 0, 0, 0, 0]);
  head.writeUIntBE(length, 5, 3);
  return Buffer.concat([head, payload]);
};
const syn = (id: number, packed: Buffer): Buffer =>
  control(1, Buffer.concat([number(id), number(0), Buffer.alloc(2), packed]));

test("streams carry bytes both ways and end one way at a time", async () => {
  const { wire, streams, done, pack } = connectPeer();
  wire.write(syn(1, await pack(block({ StreamType: "data", port: "80" }))));
  wire.write(dataFrame(1, Buffer.from("hello"), true));
  // The reply, and the echo.
  await once(wire, "readable");
  const [stream] = streams;
  expect(stream?.headers.get("streamtype")).toBe("data");
  const words: Buffer[] = [];
  for await (const chunk of stream?.bytes ?? []) words.push(chunk);
  expect(Buffer.concat(words).toString()).toBe("hello");
  stream?.bytes.end("bye");
  let heard = Buffer.alloc(0);
  while (!heard.includes(dataFrame(1, Buffer.alloc(0), true))) {
    const piece: Buffer | null = wire.read();
    if (piece) heard = Buffer.concat([heard, piece]);
    else await once(wire, "readable");
  }
  expect(heard.includes(dataFrame(1, Buffer.from("bye"), false))).toBe(true);
  wire.destroy();
  await done;
});

test("who does not read makes the connection wait, and holds no more than a little", async () => {
  const { wire, streams, done, pack } = connectPeer();
  wire.resume();
  wire.write(syn(1, await pack(block({ streamtype: "data" }))));
  await expect.poll(() => streams.length).toBe(1);
  let taken = 0;
  const pieces = Array.from(
    { length: 100 },
    () => new Promise<void>((resolve) => wire.write(dataFrame(1, Buffer.alloc(32 * 1024), false), () => resolve())),
  );
  for (const piece of pieces) void piece.then(() => taken++);
  await expect.poll(() => streams[0]?.bytes.readableLength).toBeGreaterThanOrEqual(64 * 1024);
  expect(streams[0]?.bytes.readableLength).toBeLessThan(128 * 1024);
  expect(taken).toBeLessThan(10);
  streams[0]?.bytes.resume();
  await Promise.all(pieces);
  wire.destroy();
  await done;
});

test("more streams than are allowed are refused; the others go on", async () => {
  const { wire, streams, done, pack } = connectPeer(2);
  const heard: Buffer[] = [];
  wire.on("data", (chunk: Buffer) => heard.push(chunk));
  for (const id of [1, 3, 5]) wire.write(syn(id, await pack(block({ streamtype: "data" }))));
  const refusal = control(3, Buffer.concat([number(5), number(3)]));
  await expect.poll(() => Buffer.concat(heard).includes(refusal)).toBe(true);
  expect(streams).toHaveLength(2);
  wire.destroy();
  await done;
  expect(streams.every(({ bytes }) => bytes.destroyed)).toBe(true);
});

const giant = (bytes: number): Buffer => Buffer.from([0, 0, 0, 1, 0, bytes >> 16, (bytes >> 8) & 255, bytes & 255]);

for (const [name, bytes] of [
  ["a frame of 16 MiB", async () => giant(0xff_ffff)],
  ["headers of 1 MiB", async () => control(1, Buffer.alloc(10), 1024 * 1024)],
  ["headers that unpack to 10 MiB", async (peer: Peer) => syn(1, await peer.pack(Buffer.alloc(10_000_000)))],
  ["headers that are no zlib", async () => syn(1, Buffer.from("not packed at all"))],
  ["more headers than it says", async (peer: Peer) => syn(1, await peer.pack(number(60)))],
  [
    "a name longer than its block",
    async (peer: Peer) => syn(1, await peer.pack(Buffer.concat([number(1), number(2 ** 31)]))),
  ],
  ["an even stream id", async (peer: Peer) => syn(2, await peer.pack(block({})))],
  ["another version", async () => Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0])],
  ["an unknown frame", async () => control(77, Buffer.alloc(0))],
  ["HTTP", async () => Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n")],
] satisfies readonly (readonly [string, (peer: Peer) => Promise<Buffer>])[])
  test(`${name} ends the connection`, async () => {
    const peer = connectPeer();
    peer.wire.on("error", () => {}).resume();
    peer.wire.write(await bytes(peer));
    await peer.done;
    expect(peer.streams).toHaveLength(0);
  });

test("a client that has gone is seen, though nobody reads its stream", async () => {
  const { there, here } = await socketPair();
  const { wire, streams, done, pack } = connectPeer(8, [there, here], 20);
  wire.write(syn(1, await pack(block({ StreamType: "data", port: "80" }))));
  for (let i = 0; i < 100; i++) wire.write(dataFrame(1, Buffer.alloc(64 * 1024), false));
  await expect.poll(() => streams[0]?.bytes.readableLength).toBeGreaterThan(0);
  wire.destroy();
  await done;
  expect(streams[0]?.bytes.destroyed).toBe(true);
});

test("a client is asked whether it is there, and its answer is not answered", async () => {
  const { there, here } = await socketPair();
  const { wire, done } = connectPeer(8, [there, here], 20);
  const pings: number[] = [];
  wire.on("data", (bytes: Buffer) => {
    for (let at = 0; at + 12 <= bytes.length; at += 12) {
      expect(bytes.readUInt16BE(at + 2)).toBe(frameTypes.ping);
      pings.push(bytes.readUInt32BE(at + 8));
      if (pings.length <= 3) wire.write(bytes.subarray(at, at + 12));
    }
  });
  await expect.poll(() => pings.length).toBeGreaterThan(5);
  expect(pings.slice(0, 6)).toEqual([2, 4, 6, 8, 10, 12]);
  wire.destroy();
  await done;
});
