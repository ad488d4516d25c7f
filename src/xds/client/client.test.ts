import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { createBackoff, silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createRpcClient, createRpcServer, type RpcServer } from "../../rpc/index.ts";
import { createAds } from "../server/ads.ts";
import { createMemorySource, resource } from "../testing.ts";
import { askOnce, follow } from "./client.ts";
import { type ClientChange, createClientState } from "./client-state.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

const node = { id: "sidecar~10.0.0.1~pod.default~default.svc.cluster.local" };

async function serve(
  source = createMemorySource(),
  port = 0,
): Promise<{ source: typeof source; rpc: RpcServer; port: number; refused: () => string | undefined }> {
  const ads = createAds({
    source,
    identifier: "test",
    ready: () => true,
    log: silentLogger,
    now: () => new Date(),
    uuid: randomUUID,
    other: {
      handles: (type) => type.startsWith("istio.io/debug"),
      answer: async ({ typeUrl }) => [resource("", `answer to ${typeUrl}`)],
    },
  });
  const rpc = createRpcServer({ routes: ads.routes(() => undefined), log: silentLogger });
  const bound = await rpc.listen({ host: "127.0.0.1", port });
  open.push(() => rpc.close());
  return { source, rpc, port: bound.port, refused: () => ads.status()[0]?.types[0]?.lastError };
}

function start(port: number, check?: (change: ClientChange) => string | undefined) {
  const stop = new AbortController();
  const rpc = createRpcClient({ target: { host: "127.0.0.1", port } });
  const changes: ClientChange[] = [];
  const waiting: (() => void)[] = [];
  const state = createClientState({ node });
  state.subscribe(types.cluster, ["*"]);
  const follower = follow({
    rpc,
    state,
    backoff: createBackoff({ minMs: 10, maxMs: 20, random: Math.random }),
    signal: stop.signal,
    onChange(change) {
      changes.push(change);
      for (const resume of waiting.splice(0)) resume();
    },
    onLost: () => {},
    ...(check ? { check } : {}),
  });
  open.push(async () => {
    stop.abort();
    await follower.done;
    rpc.close();
  });
  const until = async (count: number): Promise<void> => {
    while (changes.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { state, follower, changes, until };
}

test("a question is answered once", async () => {
  const { port } = await serve();
  const rpc = createRpcClient({ target: { host: "127.0.0.1", port } });
  open.push(() => rpc.close());
  const answer = await askOnce(rpc, { typeUrl: "istio.io/debug/syncz", node }, { timeoutMs: 5000 });
  expect(answer.resources.map((one) => new TextDecoder().decode(one.value))).toEqual([
    "answer to istio.io/debug/syncz",
  ]);
});

test("subscriptions are followed, and after a reconnect only the difference comes", async () => {
  const { source, rpc, port } = await serve();
  source.set({ [types.cluster]: [resource("a", "a"), resource("b", "b")], [types.endpoint]: [resource("e", "e")] });
  const client = start(port);
  await client.until(1);
  expect(client.changes[0]?.updated.map((one) => one.name)).toEqual(["a", "b"]);
  client.follower.subscribe(types.endpoint, ["e"]);
  await client.until(2);
  expect(client.changes[1]).toMatchObject({ typeUrl: types.endpoint, updated: [{ name: "e" }] });
  await rpc.close();
  source.set({ [types.cluster]: [resource("a", "a"), resource("c", "c")] });
  await serve(source, port);
  await client.until(4);
  expect(client.changes.slice(2).flatMap((change) => change.updated.map((one) => one.name))).toEqual(["c"]);
  expect([...client.state.held(types.cluster).keys()]).toEqual(["a", "c"]);
});

test("an objection is a NACK, and nothing of the response is taken", async () => {
  const { source, port, refused } = await serve();
  source.set({ [types.cluster]: [resource("bad", "bad")] });
  const client = start(port, (change) =>
    change.updated.some((one) => one.name === "bad") ? "bad is refused" : undefined,
  );
  while (refused() !== "bad is refused") await new Promise((resolve) => setImmediate(resolve));
  expect(client.state.held(types.cluster).size).toBe(0);
  source.set({ [types.cluster]: [resource("good", "good")] });
  await client.until(1);
  expect([...client.state.held(types.cluster).keys()]).toEqual(["good"]);
});
