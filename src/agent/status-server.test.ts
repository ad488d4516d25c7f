import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { type StatusServer, startStatusServer } from "./status-server.ts";

let server: StatusServer;
let dir: string;
let own: boolean;
let quit: number;
let scrapes: string[];
let scraped: PromiseWithResolvers<string>;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "status-"));
  own = true;
  quit = 0;
  scrapes = [];
  scraped = Promise.withResolvers();
  server = await startStatusServer({
    host: "127.0.0.1",
    port: 0,
    readinessSocket: join(dir, "ready"),
    mergedMetricsSocket: join(dir, "metrics"),
    isOwn: async () => own,
    notReady: async () => undefined,
    envoyMetrics: (query) => {
      scrapes.push(query);
      return query.startsWith("slow") ? scraped.promise : Promise.resolve(`of ${query}`);
    },
    agentMetrics: () => "",
    proxyMetrics: () => [],
    appMetrics: async () => "",
    appProbes: new Map(),
    appAddress: "127.0.0.1",
    onQuit: () => {
      quit++;
    },
    onDrain: async () => {},
    log: silentLogger,
  });
});
afterEach(async () => {
  await server.close();
  rmSync(dir, { recursive: true });
});

async function raw(text: string, path?: string): Promise<string> {
  const socket = path === undefined ? connect(server.port, "127.0.0.1") : connect(path);
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  socket.write(text);
  await once(socket, "close");
  return answer;
}

const line = (text: string, path?: string) => raw(`${text} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, path);

test("a path that would have to be put in order first is none of ours, and the agent lives on", async () => {
  for (const path of [
    "//[",
    "/healthz/ready/../../quitquitquit",
    "/healthz/%2e%2e/quitquitquit",
    "http://a/quitquitquit",
  ])
    expect(await line(`POST ${path}`)).toMatch(/^HTTP\/1.1 404 /);
  expect(quit).toBe(0);
  expect((await fetch(`http://127.0.0.1:${server.port}/healthz/ready?x`)).status).toBe(200);
});

test("orders come by POST from the own Pod's processes", async () => {
  expect(await line("GET /quitquitquit")).toMatch(/^HTTP\/1.1 405 /);
  own = false;
  expect(await line("POST /quitquitquit")).toMatch(/^HTTP\/1.1 403 /);
  expect(quit).toBe(0);
  own = true;
  expect(await line("POST /quitquitquit")).toMatch(/^HTTP\/1.1 200 /);
  expect(quit).toBe(1);
});

test("what Envoy asks for others is readiness on one socket, metrics on the other, and orders on none", async () => {
  const [readiness, metrics] = [join(dir, "ready"), join(dir, "metrics")];
  expect(await line("GET /healthz/ready", readiness)).toMatch(/^HTTP\/1.1 200 /);
  expect(await line("GET /stats/prometheus", readiness)).toMatch(/^HTTP\/1.1 404 /);
  expect(await line("GET /metrics", metrics)).toMatch(/^HTTP\/1.1 200 /);
  for (const socket of [readiness, metrics])
    for (const order of ["POST /quitquitquit", "POST /drain"])
      expect(await line(order, socket)).toMatch(/^HTTP\/1.1 404 /);
  expect(quit).toBe(0);
});

test("metrics that many ask for at once are read once, and not for everybody who asks otherwise", async () => {
  const get = (query: string) => fetch(`http://127.0.0.1:${server.port}/stats/prometheus?${query}`);
  const same = Array.from({ length: 20 }, () => get("slow"));
  await expect.poll(() => scrapes).toEqual(["slow"]);
  const others = Array.from({ length: 20 }, (_, i) => get(`slow${i}`));
  await Promise.race(others);
  // Who asks as Prometheus does is answered meanwhile.
  expect(await (await get("")).text()).toContain("of ");
  scraped.resolve("all");
  expect((await Promise.all(same)).map(({ status }) => status)).toEqual(same.map(() => 200));
  expect((await Promise.all(others)).filter(({ status }) => status === 503).length).toBeGreaterThan(10);
  expect(scrapes.filter((query) => query.startsWith("slow")).length).toBeLessThan(10);
  expect(await (await get("slow")).text()).toContain("all");
});
