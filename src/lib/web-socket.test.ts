import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { socketTransport } from "./byte-transport.ts";
import { acceptKey, openWebSocket } from "./web-socket.ts";

const mask = Buffer.from([1, 2, 3, 4]);

function frame(first: number, payload: Buffer, length = payload.length): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = 0x80 | (head.length === 2 ? length : head.length === 4 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0))]);
}

const emptyPieces = Array.from({ length: 2000 }, () => frame(0, Buffer.alloc(0)));

function connectPeer() {
  const [wire, server] = duplexPair();
  const heard: Buffer[] = [];
  wire.on("data", (chunk: Buffer) => heard.push(chunk)).on("error", () => {});
  const socket = openWebSocket(socketTransport(server, Buffer.alloc(0)));
  const messages = async (): Promise<readonly string[]> => {
    const all: string[] = [];
    for await (const message of socket.incoming) all.push(String(message));
    return all;
  };
  return { wire, socket, messages, heard: () => Buffer.concat(heard) };
}

test("the accept key is that of RFC 6455", () => {
  expect(acceptKey("dGhlIHNhbXBsZSBub25jZQ==")).toBe("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});

test("messages come whole, in pieces too, and pings are answered between them", async () => {
  const { wire, messages, heard } = connectPeer();
  const long = "x".repeat(70_000);
  wire.write(frame(0x82, Buffer.from("one")));
  wire.write(frame(0x02, Buffer.from("tw")));
  wire.write(frame(0x89, Buffer.from("ping")));
  wire.write(frame(0x80, Buffer.from("o")));
  wire.write(frame(0x82, Buffer.from(long)));
  wire.write(frame(0x88, Buffer.from([3, 232])));
  expect(await messages()).toEqual(["one", "two", long]);
  expect(heard().subarray(0, 6)).toEqual(Buffer.from([0x8a, 4, ...Buffer.from("ping")]));
  expect(heard().subarray(6)).toEqual(Buffer.from([0x88, 2, 3, 232]));
});

for (const [name, bytes, code] of [
  ["a frame without a mask", Buffer.from([0x82, 1, 65]), 1002],
  ["a reserved bit", frame(0xc2, Buffer.from("a")), 1002],
  ["an unknown opcode", frame(0x83, Buffer.from("a")), 1002],
  ["a ping in pieces", frame(0x09, Buffer.from("a")), 1002],
  ["a long ping", frame(0x89, Buffer.alloc(126)), 1002],
  ["a continuation of nothing", frame(0x80, Buffer.from("a")), 1002],
  ["a message of empty pieces without end", Buffer.concat([frame(2, Buffer.from("a")), ...emptyPieces]), 1009],
  ["a message of 2 MiB", frame(0x82, Buffer.alloc(0), 2 * 1024 * 1024), 1009],
  ["a message of 2^60 bytes", Buffer.from([0x82, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0]), 1009],
] as const)
  test(`${name} ends the connection with ${code}`, async () => {
    const { wire, messages, heard } = connectPeer();
    wire.write(bytes);
    expect(await messages()).toEqual([]);
    await expect.poll(() => heard().toString("hex")).toBe(`8802${code.toString(16).padStart(4, "0")}`);
  });
