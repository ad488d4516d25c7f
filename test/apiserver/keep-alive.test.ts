/** Connections that are used again and again: no large write, nor what follows it, is ever cut off. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const configMaps = "/api/v1/namespaces/default/configmaps";

test("hundreds of large writes over HTTP/1.1, one after the other, all arrive", async () => {
  const write = async (prefix: string): Promise<unknown> => {
    const order = { url: api.server.url, ca: api.server.ca, ...api.admin, prefix, count: 80 };
    const writer = join(import.meta.dirname, "writer.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [writer, JSON.stringify(order)]);
    return JSON.parse(stdout);
  };
  expect(await Promise.all([write("a"), write("b")])).toEqual([
    { 200: 80, 201: 80 },
    { 200: 80, 201: 80 },
  ]);
}, 300_000);

async function exchange(
  agent: Agent,
  method: string,
  path: string,
  body: Buffer | undefined,
  headers: Record<string, string> = {},
): Promise<{ readonly code: number; readonly body: Buffer; readonly encoding: string | undefined }> {
  const sent = request(`${api.server.url}${path}`, { method, agent, ca: api.server.ca, ...api.admin, headers });
  sent.end(body);
  const [answer] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { code: answer.statusCode, body: Buffer.concat(chunks), encoding: answer.headers["content-encoding"] };
}

test("a body that is too large is answered, and its connection can be used again", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const json = { "content-type": "application/json" };
  for (let i = 0; i < 5; i++) {
    const answer = await exchange(agent, "POST", configMaps, Buffer.alloc(4 * 1024 * 1024, 32), json);
    expect([answer.code, JSON.parse(answer.body.toString()).reason]).toEqual([413, "RequestEntityTooLarge"]);
    expect((await exchange(agent, "GET", "/livez", undefined)).code).toBe(200);
  }
  agent.destroy();
});

test("long lists, packed and plain, are whole and leave their connection usable", async () => {
  for (let i = 0; i < 20; i++)
    await api.call("POST", "/api/v1/namespaces/kube-public/configmaps", {
      metadata: { name: `l${i}` },
      data: { a: `${i}`.repeat(50_000) },
    });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const path = "/api/v1/namespaces/kube-public/configmaps";
  for (let i = 0; i < 10; i++) {
    const packed = await exchange(agent, "GET", path, undefined, { "accept-encoding": "gzip" });
    const plain = await exchange(agent, "GET", path, undefined);
    expect([packed.encoding, plain.encoding]).toEqual(["gzip", undefined]);
    expect(JSON.parse(gunzipSync(packed.body).toString())).toEqual(JSON.parse(plain.body.toString()));
    expect(JSON.parse(plain.body.toString()).items).toHaveLength(20);
  }
  agent.destroy();
});
