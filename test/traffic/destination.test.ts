/** What DestinationRules do to connections: stickiness, ejection, places, limits, TLS. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { istio, node } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { type Backend, tlsPort } from "./backend.ts";
import type { HttpCall } from "./caller.ts";
import { eventually, serviceOf, startTrafficMesh, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("destinations", () => {
  let mesh: TrafficMesh;
  let client: TrafficProxy;
  let backends: readonly Backend[];
  let web: HttpCall;

  beforeAll(async () => {
    mesh = await startTrafficMesh();
    await mesh.apply(node("here", "r1", "z1"), node("near", "r1", "z2"), node("far", "r2", "z3"));
    const places = { a: "here", b: "near", c: "far" };
    backends = await Promise.all(Object.entries(places).map(([name, at]) => mesh.backend(name, { node: at })));
    web = { address: mesh.serviceAddress(), port: 80, host: "web" };
    await mesh.apply(...serviceOf("web", { address: web.address, backends }), withoutRetries);
    client = await mesh.proxy("sidecar", "client", { node: "here" });
  });
  afterAll(() => mesh?.close());
  afterEach(async () => {
    await mesh.remove(policy({}));
    for (const backend of backends) {
      backend.seen.length = 0;
      Object.assign(backend, { status: 200, delayMs: 0, peak: 0 });
    }
  });

  const withoutRetries = istio("VirtualService", "web", {
    hosts: ["web"],
    http: [{ retries: { attempts: 0 }, route: [{ destination: { host: "web" } }] }],
  });
  const policy = (trafficPolicy: object) => istio("DestinationRule", "web", { host: "web", trafficPolicy });
  const counts = () => backends.map(({ seen }) => seen.length);
  /** Servers that Envoy has put aside. */
  const ejected = async (): Promise<number> =>
    (await client.admin("/clusters")).match(/web\.default.*health_flags::.*failed_outlier_check/g)?.length ?? 0;

  test("a consistent hash sends a user to one server, and users to all", async () => {
    await mesh.apply(
      policy({ loadBalancer: { consistentHash: { httpHeaderName: "user" }, localityLbSetting: { enabled: false } } }),
    );
    const used = new Set<string>();
    for (let user = 0; user < 20; user++) {
      const answers = await client.caller.requests({ ...web, headers: { user: `user-${user}` } }, 6, 3);
      const servers = new Set(answers.map(({ body }) => body));
      expect(servers.size).toBe(1);
      for (const server of servers) used.add(server);
    }
    expect(used.size).toBe(3);
  });

  test("a cookie is given once and sticks", async () => {
    await mesh.apply(policy({ loadBalancer: { consistentHash: { httpCookie: { name: "id", ttl: "60s" } } } }));
    const first = await client.caller.request(web);
    const cookie = String(first.headers["set-cookie"]).split(";")[0] ?? "";
    expect(cookie).toMatch(/^id=/);
    const answers = await client.caller.requests({ ...web, headers: { cookie } }, 10, 2);
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set([first.body]));
  });

  test("a server that fails is ejected; the others carry on without it", async () => {
    const outlierDetection = {
      consecutive5xxErrors: 3,
      interval: "100ms",
      baseEjectionTime: "60s",
      maxEjectionPercent: 100,
    };
    await mesh.apply(
      policy({ outlierDetection, loadBalancer: { simple: "ROUND_ROBIN", localityLbSetting: { enabled: false } } }),
    );
    const [bad] = backends;
    if (!bad) throw new Error("no backend");
    bad.status = 500;
    // Envoy's workers hear of it from its main thread: on a busy machine a few more requests get through. Six meet each server twice.
    const failing = async (): Promise<number> =>
      (await client.caller.requests(web, 6, 1)).filter(({ status }) => status === 500).length;
    await eventually(async () => (await failing()) === 0, "the failing server to be ejected");
    const failures = bad.seen.length;
    expect(failures).toBeGreaterThanOrEqual(3);
    expect(await ejected()).toBe(1);
    const answers = await client.caller.requests(web, 60, 1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(bad.seen.length).toBe(failures);
  });

  test("the own place first; the next one when it is unhealthy, then the one after", async () => {
    const outlierDetection = {
      consecutive5xxErrors: 1,
      interval: "100ms",
      baseEjectionTime: "60s",
      maxEjectionPercent: 100,
    };
    await mesh.apply(
      policy({ outlierDetection, loadBalancer: { localityLbSetting: { failover: [{ from: "r1", to: "r2" }] } } }),
    );
    await client.caller.requests(web, 30);
    expect(counts()).toEqual([30, 0, 0]);
    for (const [index, backend] of backends.slice(0, 2).entries()) {
      backend.status = 500;
      await client.caller.request(web);
      const next = backends[index + 1]?.name;
      await eventually(async () => (await client.caller.request(web)).body === next, `${next} to take over`);
      const answers = await client.caller.requests(web, 10);
      expect(new Set(answers.map(({ body }) => body))).toEqual(new Set([next]));
    }
  });

  test("a distribution over places holds within five standard deviations", async () => {
    const distribute = [{ from: "r1/z1/*", to: { "r1/z2/*": 70, "r2/z3/*": 30 } }];
    await mesh.apply(policy({ loadBalancer: { localityLbSetting: { distribute } } }));
    const total = 600;
    await client.caller.requests(web, total, 16);
    const [here, near = 0] = counts();
    expect(here).toBe(0);
    expect(Math.abs(near - total * 0.7)).toBeLessThan(5 * Math.sqrt(total * 0.7 * 0.3));
  });

  test("a circuit breaker lets so many through and turns the rest away before any server", async () => {
    const connectionPool = {
      tcp: { maxConnections: 1 },
      http: { http1MaxPendingRequests: 1, maxRequestsPerConnection: 1 },
    };
    await mesh.apply(policy({ connectionPool }));
    for (const backend of backends) backend.delayMs = 400;
    const answers = await client.caller.requests(web, 12, 12);
    const turnedAway = answers.filter(({ status }) => status === 503);
    expect(turnedAway.length).toBeGreaterThanOrEqual(8);
    for (const { headers } of turnedAway) expect(headers["x-envoy-overloaded"]).toBe("true");
    // None of them waited for a server: only what passed ever reached one.
    const passed = answers.length - turnedAway.length;
    expect(passed).toBeGreaterThan(0);
    expect(counts().reduce((sum, count) => sum + count)).toBe(passed);
  });

  describe("TLS origination", () => {
    const dir = mkdtempSync(join(tmpdir(), "fl-ca-"));
    afterAll(() => rmSync(dir, { recursive: true, force: true }));
    const call = (): HttpCall => ({ address: web.address, port: 80, host: "a.example" });

    const external = async (tls: object): Promise<void> => {
      writeFileSync(join(dir, "ca.pem"), mesh.ca);
      const [first] = backends;
      await mesh.apply(
        istio("ServiceEntry", "api", {
          hosts: ["a.example"],
          resolution: "STATIC",
          ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: tlsPort }],
          endpoints: [{ address: first?.address }],
        }),
        istio("DestinationRule", "api", { host: "a.example", trafficPolicy: { tls } }),
      );
    };

    test("the server is reached over TLS by its name and its certificate is checked", async () => {
      await external({
        mode: "SIMPLE",
        sni: "a.example",
        caCertificates: join(dir, "ca.pem"),
        subjectAltNames: ["a.example"],
      });
      await eventually(async () => (await client.caller.request(call())).body === "a a.example", "TLS");
    });

    test("a certificate of another name is refused", async () => {
      await external({
        mode: "SIMPLE",
        sni: "a.example",
        caCertificates: join(dir, "ca.pem"),
        subjectAltNames: ["other"],
      });
      const [first] = backends;
      await eventually(async () => (await client.caller.request(call())).status === 503, "refusal");
      expect((await client.caller.request(call())).body).toMatch(/^upstream connect error/);
      expect(first?.seen).toEqual([]);
    });

    test("without a name of its own, the request's host is the server's name", async () => {
      await external({ mode: "SIMPLE", caCertificates: join(dir, "ca.pem") });
      await eventually(async () => (await client.caller.request(call())).body === "a a.example", "TLS");
    });
  });

  test("Envoy refused nothing", () => {
    expect(mesh.controlPlane.refusals()).toEqual([]);
  });
});
