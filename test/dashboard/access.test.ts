/** Who may see the page and what it shows: a control plane on a real API, asked as browsers and attackers ask. */
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { oneTimeToken } from "../../src/dashboard/index.ts";
import { ask, type DashboardPlane, signIn, startDashboardPlane } from "./dashboard-plane.ts";

let mesh: DashboardPlane;
beforeAll(async () => {
  mesh = await startDashboardPlane();
});
afterAll(() => mesh.close());

const exchange = (token: string) =>
  ask(mesh.origin(), "/api/session", { method: "POST", body: JSON.stringify({ token }) });
const withBearer = (bearer: string, more: Record<string, string> = {}) => ({
  headers: { authorization: `Bearer ${bearer}`, ...more },
});

const paths = [
  ...["overview", "proxies", "proxy?id=a.b", "resources?proxy=a.b&type=CDS", "resource?proxy=a.b&type=CDS&name=c"],
  ...["services", "service?id=a/b", "objects", "object?id=VirtualService/a/b", "changes", "identities", "live"],
  ...["graph", "why", "diff", "apply", "abilities", "workload?id=a/b", "requests?session=1", "change?id=1000000"],
];

test.each(paths)("nobody reads %s without a bearer, and the refusal says what to do", async (path) => {
  const wrong = ["", "x", oneTimeToken(mesh.secret, Date.now()), oneTimeToken(Buffer.alloc(32), Date.now())];
  for (const bearer of wrong) {
    const { status, text } = await ask(mesh.origin(), `/api/${path}`, withBearer(bearer));
    expect(status).toBe(401);
    expect(text).toContain("fairlead dashboard");
  }
});

test("a path that declares nothing is nobody's", async () => {
  const bearer = await signIn(mesh);
  for (const path of ["/api/", "/api/secrets", "/api/overview/x", "/api/constructor", "/api/__proto__"])
    expect((await ask(mesh.origin(), path, withBearer(bearer))).status).toBe(404);
  expect((await ask(mesh.origin(), "/api/overview", { ...withBearer(bearer), method: "POST" })).status).toBe(405);
  for (const path of ["/assets/../main.js", "/assets/%2e%2e/main.js", "/main.js", "/index.html", "/etc/passwd"])
    expect((await ask(mesh.origin(), path)).status).toBe(404);
});

test("a link is good once, and not for long", async () => {
  const token = oneTimeToken(mesh.secret, Date.now());
  expect((await exchange(token)).status).toBe(200);
  expect((await exchange(token)).status).toBe(401);
  expect((await exchange(oneTimeToken(mesh.secret, Date.now() - 11 * 60_000))).status).toBe(401);
  // Made before this control plane began: another one may have taken it.
  expect((await exchange(oneTimeToken(mesh.secret, Date.now() - 9 * 60_000))).status).toBe(401);
  expect((await exchange(oneTimeToken(Buffer.alloc(32, 1), Date.now()))).status).toBe(401);
  expect((await exchange(token.replace(/^./, "z"))).status).toBe(401);
  const junk = ["", "{", "[]", "x".repeat(100_000), JSON.stringify({ token: { a: 1 } })];
  for (const body of junk)
    expect((await ask(mesh.origin(), "/api/session", { method: "POST", body })).status).toBeGreaterThanOrEqual(400);
});

test("a bearer outlives the control plane, a link does not", async () => {
  const bearer = await signIn(mesh);
  await mesh.stop();
  await mesh.start();
  expect((await ask(mesh.origin(), "/api/overview", withBearer(bearer))).status).toBe(200);
});

test("another site's page is refused, by whatever name it has this address called", async () => {
  const bearer = await signIn(mesh);
  const refused = [
    { host: "evil.example" },
    { host: "127.0.0.1.evil.example" },
    { host: "localhost.evil.example:15015" },
    { origin: "http://evil.example" },
    { origin: "null" },
    { origin: "http://127.0.0.1:1" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];
  for (const headers of refused) {
    for (const path of ["/", "/api/overview", "/api/session"])
      expect((await ask(mesh.origin(), path, withBearer(bearer, headers))).status).toBe(403);
  }
  const own = { origin: mesh.origin(), "sec-fetch-site": "same-origin" };
  expect((await ask(mesh.origin(), "/api/overview", withBearer(bearer, own))).status).toBe(200);
  const { text } = await ask(`http://127.0.0.1:${mesh.plane().addresses.monitoring.port}`, "/metrics");
  expect(text).toMatch(/^fairlead_dashboard_refused_total\{why="site"\} [1-9]/m);
});

test("every answer keeps what is foreign out", async () => {
  for (const path of ["/", "/assets/app.js", "/api/overview", "/nothing"]) {
    const { headers } = await ask(mesh.origin(), path);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).toContain("trusted-types 'none'");
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers["x-frame-options"]).toBe("DENY");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["set-cookie"]).toBeUndefined();
  }
});

test("more pages than there is room for are told so, and one that goes makes room", async () => {
  const bearer = await signIn(mesh);
  const open = () => {
    const { hostname, port } = new URL(mesh.origin());
    const socket = connect(Number(port), hostname);
    socket.write(`GET /api/live HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${bearer}\r\n\r\n`);
    const first = new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(chunk.toString())));
    return { socket, first };
  };
  const streams = Array.from({ length: 32 }, open);
  for (const { first } of streams) expect(await first).toContain("200 OK");
  const late = open();
  expect(await late.first).toContain("503");
  late.socket.destroy();
  streams[0]?.socket.destroy();
  await expect
    .poll(async () => {
      const again = open();
      const said = await again.first;
      again.socket.destroy();
      return said;
    })
    .toContain("200 OK");
  for (const { socket } of streams) socket.destroy();
});

test("what is asked about and does not exist is said not to", async () => {
  const bearer = await signIn(mesh);
  for (const path of paths.filter((one) => one.includes("?")))
    expect((await ask(mesh.origin(), `/api/${path}`, withBearer(bearer))).status).toBe(404);
});

test("whatever was refused is counted, by why", async () => {
  const { text } = await ask(`http://127.0.0.1:${mesh.plane().addresses.monitoring.port}`, "/metrics");
  for (const why of ["site", "token", "streams", "missing"])
    expect(text).toMatch(new RegExp(`^fairlead_dashboard_refused_total\\{why="${why}"\\} [1-9]`, "m"));
});

test("lists are filtered and come in pages", async () => {
  const bearer = await signIn(mesh);
  for (let i = 0; i < 3; i++)
    await mesh.world.create({
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: { name: `out-${i}`, namespace: "default" },
      spec: { hosts: [`out-${i}.example`], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
    });
  const list = async (query: string) =>
    JSON.parse((await ask(mesh.origin(), `/api/services?${query}`, withBearer(bearer))).text) as {
      rows: { host: string }[];
      total: number;
      page: number;
    };
  await expect.poll(async () => (await list("q=out-")).total).toBe(3);
  expect((await list("q=OUT-1")).rows.map(({ host }) => host)).toEqual(["out-1.example"]);
  expect((await list("q=out-1%20nothing")).total).toBe(0);
  for (const page of ["0", "-1", "99", "x", "1e9"]) expect((await list(`q=out-&page=${page}`)).page).toBe(1);
});
