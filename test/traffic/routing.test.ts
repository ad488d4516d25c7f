/** What VirtualServices do to requests, counted at the servers. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio } from "../render/objects.ts";
import { lacks } from "../require.ts";
import type { Backend } from "./backend.ts";
import type { Answer, HttpCall } from "./caller.ts";
import { eventually, serviceOf, startTrafficMesh, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("routes", () => {
  let mesh: TrafficMesh;
  let client: TrafficProxy;
  let a: Backend;
  let b: Backend;
  let web: HttpCall;

  beforeAll(async () => {
    mesh = await startTrafficMesh();
    a = await mesh.backend("a", { labels: { version: "v1" } });
    b = await mesh.backend("b", { labels: { version: "v2" } });
    web = { address: mesh.serviceAddress(), port: 80, host: "web" };
    const raw = serviceOf("raw", { address: mesh.serviceAddress(), backends: [a, b], portName: "tcp", port: 90 });
    await mesh.apply(
      ...serviceOf("web", { address: web.address, backends: [a, b] }),
      ...raw,
      versions("web"),
      versions("raw"),
    );
    client = await mesh.proxy("sidecar", "client");
  });
  afterAll(() => mesh?.close());
  afterEach(() => {
    for (const backend of [a, b]) {
      backend.seen.length = 0;
      Object.assign(backend, { status: 200, delayMs: 0 });
    }
  });

  const versions = (host: string): KubeObject =>
    istio("DestinationRule", host, {
      host,
      subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })),
    });
  const to = (subset: string, weight?: number) => ({
    destination: { host: "web", subset },
    ...(weight === undefined ? {} : { weight }),
  });
  const route = (...http: readonly object[]) => mesh.apply(istio("VirtualService", "web", { hosts: ["web"], http }));
  const get = (more: Partial<HttpCall> = {}): Promise<Answer> => client.caller.request({ ...web, ...more });
  const counts = () => [a.seen.length, b.seen.length];

  test("a subset gets all that is sent to it, and nothing else", async () => {
    await route({ route: [to("v2")] });
    const answers = await client.caller.requests(web, 40);
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(["b"]));
    expect(counts()).toEqual([0, 40]);
  });

  test("weights hold within five standard deviations", async () => {
    await route({ route: [to("v1", 80), to("v2", 20)] });
    const total = 1000;
    await client.caller.requests(web, total, 16);
    const deviation = Math.sqrt(total * 0.8 * 0.2);
    expect(a.seen.length + b.seen.length).toBe(total);
    expect(Math.abs(a.seen.length - total * 0.8)).toBeLessThan(5 * deviation);
  });

  test("matches on path, header, method and query choose the route", async () => {
    await route(
      { match: [{ uri: { prefix: "/b" }, headers: { who: { exact: "me" } } }], route: [to("v2")] },
      {
        match: [{ uri: { regex: "/[0-9]+" }, method: { exact: "POST" }, queryParams: { q: { exact: "1" } } }],
        route: [to("v2")],
      },
      { route: [to("v1")] },
    );
    const body = async (more: Partial<HttpCall>) => (await get(more)).body;
    expect(await body({ path: "/b/c", headers: { who: "me" } })).toBe("b");
    expect(await body({ path: "/b/c" })).toBe("a");
    expect(await body({ path: "/12?q=1", method: "POST" })).toBe("b");
    expect(await body({ path: "/12x?q=1", method: "POST" })).toBe("a");
    expect(await body({ path: "/12?q=1" })).toBe("a");
  });

  test("each retry reaches the server, and no more", async () => {
    await route({ route: [to("v1")], retries: { attempts: 2, retryOn: "5xx", backoff: "5ms" } });
    a.status = 503;
    expect((await get()).status).toBe(503);
    expect(counts()).toEqual([3, 0]);
    await route({ route: [to("v1")], retries: { attempts: 0 } });
    expect((await get()).status).toBe(503);
    expect(counts()).toEqual([4, 0]);
  });

  test("a retry goes to another server", async () => {
    await route({
      route: [{ destination: { host: "web" } }],
      retries: { attempts: 3, retryOn: "5xx", backoff: "5ms" },
    });
    a.status = 500;
    const answers = await client.caller.requests(web, 20, 2);
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(["200 b"]));
    expect(a.seen.length).toBeGreaterThan(0);
  });

  test("a timeout ends the request; a timeout per try ends tries", async () => {
    a.delayMs = 2000;
    await route({ route: [to("v1")], timeout: "200ms", retries: { attempts: 0 } });
    const slow = await get();
    expect([slow.status, a.seen.length]).toEqual([504, 1]);
    expect(slow.body).toBe("upstream request timeout");
    const retries = { attempts: 2, perTryTimeout: "100ms", retryOn: "reset,gateway-error", backoff: "5ms" };
    await route({ route: [to("v1")], retries });
    expect((await get()).status).toBe(504);
    expect(counts()).toEqual([4, 0]);
  });

  test("a mirror receives every request, and its answers are dropped", async () => {
    await route({ route: [to("v1")], mirror: { host: "web", subset: "v2" }, mirrorPercentage: { value: 100 } });
    b.status = 500;
    const answers = await client.caller.requests({ ...web, path: "/mirrored" }, 30);
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(["200 a"]));
    await eventually(() => b.seen.length === 30, "30 mirrored requests");
    expect(b.seen[0]).toMatchObject({ path: "/mirrored", headers: { host: "web" } });
  });

  test("a fault aborts or delays the share that was asked for", async () => {
    await route(
      {
        match: [{ uri: { prefix: "/abort" } }],
        fault: { abort: { percentage: { value: 50 }, httpStatus: 418 } },
        route: [to("v1")],
      },
      { fault: { delay: { percentage: { value: 100 }, fixedDelay: "150ms" } }, route: [to("v1")] },
    );
    const total = 400;
    const answers = await client.caller.requests({ ...web, path: "/abort" }, total, 16);
    const aborted = answers.filter(({ status }) => status === 418).length;
    expect(Math.abs(aborted - total / 2)).toBeLessThan(5 * Math.sqrt(total / 4));
    expect(a.seen.length).toBe(total - aborted);
    const delayed = await get();
    // Two processes' clocks: Envoy's tick of a millisecond or two may be missing, the delay itself not.
    expect([delayed.status, delayed.ms >= 140]).toEqual([200, true]);
  });

  test("headers are set, added and removed, on the way there and back", async () => {
    await route({
      headers: {
        request: { set: { one: "1", host: "inner" }, remove: ["secret"] },
        response: { set: { "x-backend": "hidden" } },
      },
      route: [{ ...to("v1"), headers: { request: { add: { two: "2" } }, response: { add: { three: "3" } } } }],
    });
    const { headers } = await get({ headers: { secret: "s", one: "0", two: "0" } });
    expect(a.seen[0]?.headers).toMatchObject({ one: "1", two: "0, 2", host: "inner" });
    expect(a.seen[0]?.headers).not.toHaveProperty("secret");
    expect(headers).toMatchObject({ "x-backend": "hidden", three: "3" });
  });

  test("rewrite, redirect and direct answers", async () => {
    const prefix = (path: string) => ({ match: [{ uri: { prefix: path } }] });
    await route(
      { ...prefix("/old"), rewrite: { uri: "/new", authority: "other" }, route: [to("v1")] },
      {
        match: [{ uri: { regex: "/v[0-9]+/.*" } }],
        rewrite: { uriRegexRewrite: { match: "/v[0-9]+/(.*)", rewrite: "/\\1" } },
        route: [to("v1")],
      },
      { ...prefix("/gone"), redirect: { uri: "/here", authority: "elsewhere", redirectCode: 307 } },
      { ...prefix("/short"), directResponse: { status: 418, body: { string: "teapot" } } },
    );
    await get({ path: "/old/x?y=1" });
    await get({ path: "/v7/rest" });
    expect(a.seen.map(({ path, headers }) => [path, headers.host])).toEqual([
      ["/new/x?y=1", "other"],
      ["/rest", "web"],
    ]);
    const gone = await get({ path: "/gone" });
    expect([gone.status, gone.headers.location]).toEqual([307, "http://elsewhere/here"]);
    const short = await get({ path: "/short" });
    expect([short.status, short.body]).toEqual([418, "teapot"]);
    expect((await get({ path: "/nothing" })).status).toBe(404);
  });

  test("TCP routes go by weight too", async () => {
    const destination = (subset: string, weight: number) => ({
      destination: { host: "raw", subset, port: { number: 90 } },
      weight,
    });
    await mesh.apply(
      istio("VirtualService", "raw", {
        hosts: ["raw"],
        tcp: [{ route: [destination("v1", 0), destination("v2", 100)] }],
      }),
    );
    const [, second] = await Promise.all(
      [1, 2, 3].map(() => client.caller.connect({ address: rawAddress(), port: 90, send: "hello\n" })),
    );
    expect(second).toEqual({ received: "b", error: "" });
    expect(counts()).toEqual([0, 3]);
  });

  /** The service after `web`. */
  const rawAddress = (): string => web.address.replace(/\d+$/, (last) => String(Number(last) + 1));

  test("Envoy refused nothing", () => {
    expect(mesh.controlPlane.refusals()).toEqual([]);
  });
});
