import { generateKeyPairSync } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createAddressGuard, silentLogger } from "../lib/index.ts";
import { type Config, type JWTRule, jwksKey, type RequestAuthenticationSpec } from "../model/index.ts";
import { createHttpClient } from "./http-client.ts";
import { createJwksResolver } from "./jwks-resolver.ts";
import { json, redirect, startServer, type TestServer } from "./testing.ts";

const makeKey = (kid: string) => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    open: { kid, ...pair.publicKey.export({ format: "jwk" }) },
    secret: { kid, ...pair.privateKey.export({ format: "jwk" }) },
  };
};
const [a, b] = [makeKey("a"), makeKey("b")];
const setOf = (...keys: readonly object[]) => JSON.stringify({ keys });

let server: TestServer;
const stop: AbortController[] = [];
beforeEach(async () => {
  server = await startServer();
});
afterEach(async () => {
  for (const one of stop.splice(0)) one.abort();
  await server.close();
});

/** Time stands still until the test says otherwise. */
function follow(...rules: readonly JWTRule[]) {
  const graph = createGraph();
  const objects = graph.source<Config<RequestAuthenticationSpec>>("RequestAuthentication");
  const put = (name: string, jwtRules: readonly JWTRule[]): void =>
    objects.set(name, { kind: "RequestAuthentication", meta: { name, namespace: "x" }, spec: { jwtRules } });
  if (rules.length > 0) put("first", rules);
  const control = new AbortController();
  stop.push(control);
  let nowMs = 0;
  const waits: { ms: number; go: () => void }[] = [];
  let waiting = Promise.withResolvers<void>();
  const fetched: boolean[] = [];
  const timeouts: number[] = [];
  const client = createHttpClient({ guard: createAddressGuard() });
  const resolver = createJwksResolver({
    graph,
    client: {
      ...client,
      get(url, limits) {
        timeouts.push(limits.timeoutMs);
        return client.get(url, limits);
      },
    },
    requestAuthentications: objects,
    log: silentLogger,
    monotonicMs: () => nowMs,
    random: () => 1,
    signal: control.signal,
    onFetch: (good) => fetched.push(good),
    waitMs: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        waits.push({ ms, go: resolve });
        waiting.resolve();
        waiting = Promise.withResolvers();
      }),
  });
  /** Lets the time pass that one follower waits for, until it waits again. */
  const pass = async (): Promise<number> => {
    const due = waits.shift();
    if (!due) throw new Error("nobody waits");
    nowMs += due.ms;
    const next = waiting.promise;
    due.go();
    await next;
    return due.ms;
  };
  return {
    resolver,
    objects,
    put,
    graph,
    waits,
    pass,
    fetched,
    timeouts,
    tick: () => waiting.promise,
    later: (ms: number) => (nowMs += ms),
  };
}

const uri = (path: string): string => `${server.url}${path}`;

test("fetches what is wanted and keeps it fresh every 20 minutes", async () => {
  server.answer("/a", json({ keys: [a.open] }));
  const { resolver, pass, fetched } = follow({ issuer: "i", jwksUri: uri("/a") });
  await resolver.settled();
  expect(resolver.keySets.get(uri("/a"))).toBe(setOf(a.open));
  server.answer("/a", json({ keys: [b.open] }));
  await Promise.resolve();
  expect(await pass()).toBe(20 * 60_000);
  expect(resolver.keySets.get(uri("/a"))).toBe(setOf(b.open));
  expect(fetched).toEqual([true, true]);
});

test("finds the address by OpenID discovery where a rule names none", async () => {
  server.answer("/tenant/.well-known/openid-configuration", json({ jwks_uri: uri("/moved") }));
  server.answer("/moved", redirect("/keys"));
  server.answer("/keys", json({ keys: [a.open] }));
  const { resolver } = follow({ issuer: uri("/tenant/") });
  await resolver.settled();
  expect(resolver.keySets.get(jwksKey({ issuer: uri("/tenant/") }))).toBe(setOf(a.open));
});

describe("while a server gives no keys", () => {
  test.each<[string, () => void]>([
    ["is down", () => void server.close()],
    ["says no", () => server.answer("/a", (_q, r) => r.writeHead(500).end())],
    ["is not JSON", () => server.answer("/a", (_q, r) => r.end("<html>"))],
    ["has no key in it", () => server.answer("/a", json({ keys: [] }))],
    ["is something else", () => server.answer("/a", json({ password: "hunter2" }))],
    ["is huge", () => server.answer("/a", (_q, r) => r.end(JSON.stringify({ keys: [a.open], x: "x".repeat(11e6) })))],
  ])("the last good ones are kept when its answer %s", async (_how, breakIt) => {
    server.answer("/a", json({ keys: [a.open] }));
    const { resolver, pass, waits } = follow({ issuer: "i", jwksUri: uri("/a") });
    await resolver.settled();
    breakIt();
    await Promise.resolve();
    await pass();
    expect(resolver.keySets.get(uri("/a"))).toBe(setOf(a.open));
    expect(waits[0]?.ms).toBe(1_000);
  });

  test("there are none where there never were any, and never a stand-in (R37)", async () => {
    const { resolver, pass, fetched } = follow({ issuer: "i", jwksUri: uri("/missing") });
    await resolver.settled();
    expect(resolver.keySets.get(uri("/missing"))).toBeUndefined();
    await Promise.resolve();
    expect([await pass(), await pass(), await pass()]).toEqual([1_000, 2_000, 4_000]);
    expect(fetched).toEqual([false, false, false, false]);
    server.answer("/missing", json({ keys: [a.open] }));
    await pass();
    expect(resolver.keySets.get(uri("/missing"))).toBe(setOf(a.open));
  });

  test("a week later the last good ones are no longer trusted", async () => {
    server.answer("/a", json({ keys: [a.open] }));
    const { resolver, pass, later } = follow({ issuer: "i", jwksUri: uri("/a") });
    await resolver.settled();
    await Promise.resolve();
    server.answer("/a", (_q, r) => r.writeHead(503).end());
    later(7 * 24 * 3_600_000 - 20 * 60_000);
    await pass();
    expect(resolver.keySets.size).toBe(1);
    await pass();
    expect(resolver.keySets.size).toBe(0);
  });
});

test("R37: private parts that a server publishes go no further", async () => {
  server.answer("/a", json({ keys: [a.secret] }));
  const { resolver } = follow({ issuer: "i", jwksUri: uri("/a") });
  await resolver.settled();
  expect(JSON.parse(resolver.keySets.get(uri("/a")) ?? "")).toEqual({ keys: [a.open] });
});

test("the same keys in another order change nothing", async () => {
  server.answer("/a", json({ keys: [a.open, b.open] }));
  const { resolver, pass } = follow({ issuer: "i", jwksUri: uri("/a") });
  await resolver.settled();
  await Promise.resolve();
  server.answer("/a", json({ keys: [b.open, a.open] }));
  await pass();
  expect(resolver.keySets.get(uri("/a"))).toBe(setOf(a.open, b.open));
});

test("follows what objects ask for: two rules share one fetch, and what nobody wants is dropped", async () => {
  server.answer("/a", json({ keys: [a.open] }));
  const { resolver, put, objects, tick } = follow();
  expect(resolver.keySets.size).toBe(0);
  const started = tick();
  put("one", [
    { issuer: "i", jwksUri: uri("/a") },
    { issuer: "inline", jwks: setOf(b.open) },
  ]);
  put("two", [{ issuer: "j", jwksUri: uri("/a") }]);
  await started;
  expect(server.asked).toEqual(["/a"]);
  objects.delete("one");
  await Promise.resolve();
  expect(resolver.keySets.size).toBe(1);
  objects.delete("two");
  await Promise.resolve();
  await Promise.resolve();
  expect(resolver.keySets.size).toBe(0);
});

test("a rule's own timeout counts", async () => {
  server.answer("/slow", () => {});
  const { resolver, timeouts, fetched } = follow({ issuer: "i", jwksUri: uri("/slow"), timeout: "0.05s" });
  await resolver.settled();
  expect(timeouts).toEqual([50]);
  expect(fetched).toEqual([false]);
});

test("R36: a server that comes and goes a hundred times costs nothing but fetches", async () => {
  const { resolver, pass, fetched } = follow({ issuer: "i", jwksUri: uri("/a") });
  await resolver.settled();
  await Promise.resolve();
  for (let round = 0; round < 100; round++) {
    server.answer("/a", round % 2 === 0 ? json({ keys: [a.open] }) : (request) => request.socket.destroy());
    await pass();
    expect(resolver.keySets.get(uri("/a"))).toBe(setOf(a.open));
  }
  expect(fetched.filter((good) => good)).toHaveLength(50);
});

test("of an object that names thousands of silent servers, so many are asked at once", async () => {
  const graph = createGraph();
  const objects = graph.source<Config<RequestAuthenticationSpec>>("RequestAuthentication");
  const control = new AbortController();
  stop.push(control);
  let asked = 0;
  const silent = (): Promise<never> => {
    asked++;
    return new Promise(() => {});
  };
  createJwksResolver({
    graph,
    client: { ask: silent, get: silent },
    requestAuthentications: objects,
    log: silentLogger,
    monotonicMs: () => 0,
    random: () => 1,
    signal: control.signal,
  });
  const jwtRules = Array.from({ length: 4_096 }, (_, i) => ({ issuer: `i${i}`, jwksUri: `https://k${i}.example.com` }));
  objects.set("many", { kind: "RequestAuthentication", meta: { name: "many", namespace: "x" }, spec: { jwtRules } });
  await nextTurn();
  expect(asked).toBeLessThan(32);
  for (let turn = 0; turn < 200; turn++) await nextTurn();
  expect(asked).toBe(256);
});
