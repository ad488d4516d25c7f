import { once } from "node:events";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { openWebSocket, socketTransport } from "../../lib/index.ts";
import { openCommandStreams } from "./command-streams.ts";
import { socketPair } from "./testing.ts";

/** Both ends of a client's connection; `heard` ends with it. */
async function openOverWebSocket() {
  const [there, here] = duplexPair();
  const client = openWebSocket(socketTransport(there, Buffer.alloc(0)), "client");
  const heard = (async () => {
    for await (const _ of client.incoming);
  })();
  const transport = openWebSocket(socketTransport(here, Buffer.alloc(0)));
  const upgraded = { over: "webSocket", protocol: "v5.channel.k8s.io", transport } as const;
  const streams = await openCommandStreams(upgraded, { stdin: true, stdout: true, stderr: false, tty: true });
  if (!streams) throw new Error("not opened");
  return { client, streams, heard };
}

test("sizes of a terminal that nobody reads are not kept", async () => {
  const { client, streams, heard } = await openOverWebSocket();
  const size = Buffer.from(JSON.stringify({ Width: 80, Height: 25 }).padEnd(1000));
  const sent = 2000;
  for (let i = 0; i < sent; i++) await client.send(Buffer.concat([Buffer.of(4), size]));
  // Messages come in order: when this one is here, all others were taken.
  await client.send(Buffer.from([0, 120]));
  if (!streams.stdin) throw new Error("no input");
  expect(String((await once(streams.stdin, "data"))[0])).toBe("x");
  let kept = 0;
  streams.resized(() => kept++);
  await expect.poll(() => kept).toBeGreaterThan(0);
  client.close();
  await heard;
  expect(kept).toBeLessThan(sent / 10);
});

test("a client that has gone is seen, though the command does not take what it was sent", async () => {
  const { there, here } = await socketPair();
  const client = openWebSocket(socketTransport(there, Buffer.alloc(0)), "client");
  const transport = openWebSocket(socketTransport(here, Buffer.alloc(0)), "server", 20);
  const upgraded = { over: "webSocket", protocol: "v5.channel.k8s.io", transport } as const;
  const streams = await openCommandStreams(upgraded, { stdin: true, stdout: true, stderr: false, tty: false });
  if (!streams) throw new Error("not opened");
  void (async () => {
    for (let i = 0; i < 100; i++) await client.send(Buffer.alloc(64 * 1024));
  })();
  // Full: nothing more is read of it.
  await expect.poll(() => streams.stdin?.readableLength).toBeGreaterThan(0);
  await expect.poll(() => there.writableNeedDrain).toBe(true);
  const gone = once(streams.signal, "abort");
  there.destroy();
  await gone;
});
