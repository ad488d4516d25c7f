/** Watches whose clients are gone without a word, and watches whose clients do not read: nothing of them stays, and no write waits for them. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { request } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";

let api: TestApi;
const path = "/api/v1/namespaces/default/configmaps";
beforeAll(async () => {
  api = await startApi();
  for (let i = 0; i < 10; i++)
    await api.call("POST", path, { metadata: { name: `m${i}` }, data: { a: "x".repeat(20_000) } });
});
afterAll(() => api.close());

async function watches(): Promise<number> {
  const sent = request(`${api.server.url}/metrics`, { ca: api.server.ca, ...api.admin, agent: false });
  sent.end();
  const [answer] = await once(sent, "response");
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return Number(/^fairlead_api_watches (\d+)$/m.exec(text)?.[1]);
}

/** Most over a few HTTP/2 connections, some over one of HTTP/1.1 each; nobody reads them. Returns how to drop them all. */
async function openWatches(sessions: number, streams: number, plain: number): Promise<() => void> {
  const drops: (() => void)[] = [];
  const tls = { ca: api.server.ca, ...api.admin };
  for (let i = 0; i < sessions; i++) {
    const session = connect(api.server.url, tls);
    session.on("error", () => {});
    drops.push(() => session.socket.destroy());
    const open = Array.from({ length: streams }, () => session.request({ ":path": `${path}?watch=1` }));
    for (const stream of open) {
      stream.on("error", () => {});
      await once(stream, "response");
      stream.pause();
    }
  }
  for (let i = 0; i < plain; i++) {
    const sent = request(`${api.server.url}${path}?watch=1`, { ...tls, agent: false });
    sent.on("error", () => {});
    sent.end();
    const [answer] = await once(sent, "response");
    answer.on("error", () => {});
    answer.pause();
    drops.push(() => answer.socket.destroy());
  }
  return () => {
    for (const drop of drops) drop();
  };
}

const write = (i: number) =>
  api.call("PATCH", `${path}/m${i % 10}`, { data: { n: String(i) } }, "application/merge-patch+json");

test("five hundred that are dropped leave no entry", async () => {
  const drop = await openWatches(5, 90, 50);
  expect(await watches()).toBe(500);
  for (let i = 0; i < 20; i++) expect((await write(i)).code).toBe(200);
  drop();
  await expect.poll(watches, { timeout: 300_000 }).toBe(0);
  expect((await write(1)).code).toBe(200);
}, 300_000);

test("one that is not read is cut off when it has fallen behind, and the others see everything", async () => {
  const small = await startApi({ historyLimit: 16 });
  await small.call("POST", path, { metadata: { name: "m" }, data: { a: "x".repeat(200_000) } });
  const session: ClientHttp2Session = connect(small.server.url, { ca: small.server.ca, ...small.admin });
  session.on("error", () => {});
  const slow = session.request({ ":path": `${path}?watch=1` });
  slow.on("error", () => {});
  await once(slow, "response");
  slow.pause();
  const quick = follow(session);
  for (let i = 0; i < 60; i++)
    await small.call("PATCH", `${path}/m`, { data: { n: String(i) } }, "application/merge-patch+json");
  await expect.poll(() => quick.seen(), { timeout: 300_000 }).toBe(61);
  const ended = once(slow, "close");
  slow.resume();
  await ended;
  session.destroy();
  await small.close();
}, 300_000);

/** A watch that is read, and how many events it has seen. */
function follow(session: ClientHttp2Session): { seen(): number } {
  const stream: ClientHttp2Stream = session.request({ ":path": `${path}?watch=1` });
  stream.on("error", () => {});
  let seen = 0;
  stream.on("data", (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) seen++;
  });
  return { seen: () => seen };
}
