import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { eachMessage } from "./each-message.ts";
import { messageChunks } from "./frame.ts";

const options = { maxBytes: 1000, encoding: undefined, signal: new AbortController().signal };
const framed = (...texts: readonly string[]): Buffer =>
  Buffer.concat(texts.flatMap((text) => [...messageChunks([Buffer.from(text)])]));
const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await nextTurn();
};

test("messages come one by one, however the stream is cut", async () => {
  const stream = new PassThrough();
  const seen: string[] = [];
  const done = eachMessage(stream, options, (bytes) => {
    seen.push(Buffer.from(bytes).toString());
    return undefined;
  });
  for (const byte of framed("a", "", "cde")) stream.write(Buffer.of(byte));
  stream.end();
  await done;
  expect(seen).toEqual(["a", "", "cde"]);
});

test("while a message is being worked on, nothing more is read", async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  const seen: string[] = [];
  let work = Promise.withResolvers<void>();
  const done = eachMessage(stream, options, (bytes) => {
    seen.push(Buffer.from(bytes).toString());
    return work.promise;
  });
  stream.write(framed("a", "b"));
  for (let i = 0; i < 50; i++) stream.write(framed("more"));
  await settle();
  expect(seen).toEqual(["a"]);
  expect(stream.writableNeedDrain).toBe(true);
  const first = work;
  work = Promise.withResolvers<void>();
  first.resolve();
  await settle();
  expect(seen).toEqual(["a", "b"]);
  work.resolve();
  stream.end();
  await done;
  expect(seen).toHaveLength(52);
});

test.each<readonly [string, (stream: PassThrough) => void, RegExp]>([
  ["ends inside a message", (stream) => stream.end(framed("abc").subarray(0, 6)), /inside a message/],
  ["is cut", (stream) => stream.destroy(), /has gone/],
  ["sends too large a message", (stream) => stream.write(framed("a".repeat(1001))), /at most 1000/],
  ["begins a message and stops", (stream) => stream.write(framed("abc").subarray(0, 6)), /no message came/],
])("a stream that %s is told so", async (_, act, error) => {
  const stream = new PassThrough();
  const done = eachMessage(stream, { ...options, stallMs: 20 }, () => undefined);
  act(stream);
  await expect(done).rejects.toThrow(error);
});

test("where one message is all there is, its end is waited for no longer than it was", async () => {
  const done = (untilEnd: boolean, stream: PassThrough) =>
    eachMessage(stream, { ...options, stallMs: 20, untilEnd }, () => undefined);
  const open = new PassThrough();
  open.write(framed("a"));
  await expect(done(true, open)).rejects.toThrow(/no message came/);
  const ended = new PassThrough();
  ended.end(framed("a"));
  await done(true, ended);
});

test("what the taker throws ends the reading", async () => {
  const stream = new PassThrough();
  let taken = 0;
  const done = eachMessage(stream, options, () => {
    taken++;
    throw new Error("no more");
  });
  stream.write(framed("a", "b"));
  await expect(done).rejects.toThrow("no more");
  stream.write(framed("c"));
  await settle();
  expect(taken).toBe(1);
});

describe("what comes when the call is over is not handed over", () => {
  const compressed = gzipSync("a".repeat(1000));
  const zipped = Buffer.concat([Buffer.of(1, 0, 0, 0, compressed.length), compressed]);
  const inflate = promisify(gunzip);

  function read(signal = options.signal) {
    const stream = new PassThrough();
    const seen: number[] = [];
    const done = eachMessage(stream, { ...options, signal, encoding: "gzip" }, (bytes) => {
      seen.push(bytes.length);
      return undefined;
    });
    return { stream, seen, done };
  }

  test("while it was inflated", async () => {
    const { stream, seen, done } = read();
    const begun = once(stream, "pause");
    stream.write(zipped);
    await begun;
    stream.destroy();
    await expect(done).rejects.toThrow("has gone");
    for (let i = 0; i < 5; i++) await inflate(compressed);
    await settle();
    expect(seen).toEqual([]);
  });

  test("and the stream is still there", async () => {
    const controller = new AbortController();
    const { stream, seen, done } = read(controller.signal);
    stream.write(framed("a"));
    await settle();
    controller.abort(new Error("the handler is done"));
    stream.write(framed("bc"));
    await expect(done).rejects.toThrow("the handler is done");
    expect(seen).toEqual([1]);
  });
});
