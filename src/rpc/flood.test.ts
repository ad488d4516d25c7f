/** Floods of HTTP/2 frames, by a client that reads what comes back as a patient attacker would. */
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { createRpcClient } from "./client.ts";
import { bidi } from "./route.ts";
import { createRpcServer } from "./server.ts";
import { echo, message } from "./testing.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

const kinds = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, continuation: 9 } as const;
const endHeaders = 4;

function frame(kind: keyof typeof kinds, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = kinds[kind];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
/** A call of the echo service, in HPACK with the static table alone. */
const request = Buffer.concat([
  Buffer.from([0x83, 0x86, 0x04]),
  text(echo.chat.path),
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
  Buffer.from([0x7f, 0x81, 0x17]),
  Buffer.alloc(3072, 0x61),
  Buffer.alloc(10_000, 0xbe),
]);
const nothing = Buffer.alloc(0);

const floods: Record<string, (round: number) => Buffer> = {
  PING: () => frame("ping", 0, 0, Buffer.alloc(8)),
  SETTINGS: () => frame("settings", 0, 0, nothing),
  "RST_STREAM of opened streams": (round) =>
    Buffer.concat([
      frame("headers", endHeaders, 2 * round + 1, request),
      frame("reset", 0, 2 * round + 1, Buffer.from([0, 0, 0, 8])),
    ]),
  CONTINUATION: (round) =>
    round === 0
      ? frame("headers", 0, 1, request)
      : frame("continuation", 0, 1, Buffer.concat([Buffer.from([0]), text("x"), text("y".repeat(100))])),
  "empty CONTINUATION": (round) =>
    round === 0 ? frame("headers", 0, 1, request) : frame("continuation", 0, 1, nothing),
  "HPACK bombs": (round) => frame("headers", endHeaders, 2 * round + 1, bomb),
};

/** What the server takes before it must have ended the session; a flood that it takes for ever fails the test. */
const maxFrames = 400_000;
/** Writes until the other side has closed; false where it never did. */
async function flood(socket: Socket, next: (round: number) => Buffer): Promise<boolean> {
  for (let round = 0; !socket.destroyed && round < maxFrames; round += 50) {
    const batch = Buffer.concat(Array.from({ length: 50 }, (_, i) => next(round + i)));
    if (!socket.write(batch)) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
    else await nextTurn();
  }
  return socket.destroyed;
}

test.each(Object.entries(floods))(
  "R04: a flood of %s costs its sender the session, and others are served",
  async (_name, next) => {
    const chat = bidi(echo.chat, async (requests, _call, send) => {
      for await (const one of requests) await send(one);
    });
    const server = createRpcServer({ routes: [chat], log: silentLogger, limits: { keepaliveMs: 200 } });
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    open.push(() => server.close());
    const client = createRpcClient({ target: { host: "127.0.0.1", port } });
    open.push(() => client.close());
    const other = await client.stream(echo.chat);
    const say = async (words: string): Promise<string | undefined> => {
      await other.send(message(words));
      return (await other.messages.next()).value?.value;
    };
    expect(await say("before")).toBe("before");

    const socket = connectSocket(port, "127.0.0.1");
    open.push(() => void socket.destroy());
    socket.on("error", () => {});
    socket.resume();
    socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame("settings", 0, 0, nothing)]));
    const flooding = flood(socket, next);
    expect(await say("meanwhile")).toBe("meanwhile");
    expect(await flooding).toBe(true);
    expect(await say("after")).toBe("after");
    // Nothing of the flood has become a call.
    expect(server.load()).toEqual({ connections: 1, calls: 1 });
  },
);
