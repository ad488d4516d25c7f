/** `fairlead why` and `fairlead diff` on a running control plane: it says the same as the objects would. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { type Answer, ask } from "../http/ask.ts";
import { lacks } from "../require.ts";
import { type Mesh, startMesh } from "./mesh.ts";
import { startFairlead } from "./planes.ts";
import { followAll } from "./proxy.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-live-"));
let mesh: Mesh | undefined;
const started = (): Mesh => {
  if (!mesh) throw new Error("not started");
  return mesh;
};
beforeAll(async () => {
  mesh = await startMesh(startFairlead);
});
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true });
  await mesh?.close();
});

const token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJub2JvZHkifQ.c2lnbmF0dXJl";
const needsApi = lacks("kubectl");

const why = (...words: readonly string[]) => runCli(["why", ...words]);
const address = (): readonly string[] => ["--address", `127.0.0.1:${started().plane.ports.monitoring}`];
const api = (): readonly string[] => ["--kubeconfig", started().pods.api.kubeconfig];

async function post(question: unknown, path = "whyz"): Promise<Answer> {
  const { monitoring } = started().plane.ports;
  const body = typeof question === "string" ? question : JSON.stringify(question);
  return ask(monitoring, `/debug/${path}`, { method: "POST", headers: { host: "localhost" }, body });
}

test.skipIf(needsApi).each([
  ["web-1.shop", "reviews:9080/x"],
  ["web.shop", "reviews:9080/x", "-X", "POST"],
  ["web", "reviews/x", "-H", "end-user: jason"],
  ["reviews-v1-1.shop", "web/x"],
  ["outside", "web.shop/x"],
  ["web.shop", "tls://api.example.org"],
  ["web.shop", "db.store:5432"],
])("%s to %s: by what was sent, and by the objects", async (...question) => {
  const [live, worked] = await Promise.all([
    why(...question, ...address(), "-o", "json"),
    why(...question, ...api(), "--profile", "istio-proxy", "-o", "json"),
  ]);
  expect(live.stderr).toBe("");
  expect(unversioned(live.stdout)).toEqual(unversioned(worked.stdout));
  expect(live.status).toBe(worked.status);
});

/** Statuses are written meanwhile, which gives objects another version; and a proxy may be about to answer. */
function unversioned(text: string): object {
  const answer = JSON.parse(text.replaceAll(/(resourceVersion[ ":]+)\d+/g, "$1…")) as {
    readonly assumptions: string[];
  };
  return { ...answer, assumptions: answer.assumptions.filter((one) => !one.includes("has not acknowledged")) };
}

test.skipIf(needsApi)("the control plane of a cluster is found through its API", async () => {
  const [found, named] = await Promise.all([
    why("web.shop", "reviews", ...api()),
    why("web.shop", "reviews", ...address()),
  ]);
  expect(found.status).toBe(named.status);
  expect(found.stdout.replaceAll(/Version \d+/g, "")).toBe(named.stdout.replaceAll(/Version \d+/g, ""));
  expect(found.stdout).toMatch(/^503 UC: no filter chain fits.*PeerAuthentication shop\/default/);
});

test.skipIf(needsApi)("a Pod whose proxy is not connected is told as such", async () => {
  const { pods } = started();
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "late", namespace: "shop", labels: { app: "late" } } },
    spec: {
      containers: [
        { name: "app", image: "x" },
        { name: "istio-proxy", image: "x", args: ["proxy", "sidecar"] },
      ],
    },
  };
  expect((await pods.api.kubectl("apply -f -", JSON.stringify(pod))).code).toBe(0);
  const status = JSON.stringify({ status: { phase: "Running", podIP: "10.0.0.77", podIPs: [{ ip: "10.0.0.77" }] } });
  await pods.api.kubectl(`patch pod late -n shop --subresource=status --type=merge -p '${status}'`);
  await expect
    .poll(async () => (await why("late.shop", "web/x", ...address())).stdout)
    .toContain("late.shop is not connected to this control plane: this is what it would be sent");
});

test.skipIf(needsApi)("mistakes are told with what to do, and a token is never repeated", async () => {
  const unknown = await why("nobody.shop", "web", ...address());
  expect([unknown.status, unknown.stderr.split("\n")[0]]).toEqual([
    1,
    "fairlead: no proxy is called nobody.shop in namespace shop",
  ]);
  const asked = { source: "web.shop", destination: `reviews/x?access_token=${token}`, token };
  const { status, text } = await post(asked);
  expect(status).toBe(200);
  expect(text).toContain("access_token=[token]");
  expect(text).not.toContain(token);
  const bad = ["{", "[]", '"x"', { sorce: "x" }, { source: 1 }, { headers: [["a"]] }];
  for (const question of bad) expect((await post(question)).status, JSON.stringify(question)).toBe(400);
  expect((await post({ source: "x".repeat(70_000) })).status).toBe(413);
  expect(JSON.parse((await post({ source: "web.shop", destination: "web", token: "a b" })).text)).toMatchObject({
    code: "invalid",
    error: "this is no token",
  });
});

const weights = (v1: number, v2: number): string => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: reviews, namespace: shop }
spec:
  hosts: [reviews]
  http:
    - route:
        - { destination: { host: reviews, subset: v1 }, weight: ${v1} }
        - { destination: { host: reviews, subset: v2 }, weight: ${v2} }
`;
const patch = `apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: slow, namespace: shop }
spec:
  configPatches:
    - applyTo: CLUSTER
      match: { context: SIDECAR_OUTBOUND, cluster: { service: reviews.shop.svc.cluster.local } }
      patch: { operation: MERGE, value: { connect_timeout: 77s } }
`;
const service = `apiVersion: v1
kind: Service
metadata: { name: more, namespace: shop }
spec: { clusterIP: 10.96.0.77, selector: { app: web }, ports: [{ name: http, port: 81 }] }
`;
const bad = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: bad, namespace: shop }
spec: { hosts: [] }
`;
const both = ["--proxy", "web-1.shop", "--proxy", "reviews-v1-1.shop"];

async function diff(change: string, ...words: readonly string[]) {
  const file = join(dir, "change.yaml");
  writeFileSync(file, change);
  return runCli(["diff", "-f", file, ...both, "-o", "json", ...words]);
}

test.skipIf(needsApi).each([
  ["weights", weights(50, 50)],
  ["what is there already", weights(90, 10).replace("    - route", "    - timeout: 5s\n      route")],
  ["a patch", patch],
  ["a new Service", service],
  ["several, one of them refused", [weights(1, 99), bad, patch].join("---\n")],
])("a change of %s: by what was sent, and by the objects", async (_, change) => {
  const live = await diff(change, ...address(), "--resources");
  const worked = await diff(change, ...api(), "--resources", "--profile", "istio-proxy");
  expect(live.stderr).toBe("");
  expect(JSON.parse(live.stdout)).toEqual(JSON.parse(worked.stdout));
  expect(live.status).toBe(worked.status);
});

test.skipIf(needsApi)(
  "a change is compared with what there is at that moment, and no proxy is sent any of it",
  async () => {
    const { api: on } = started().pods;
    const { monitoring } = started().plane.ports;
    const sent = async (): Promise<string> =>
      (await ask(monitoring, "/debug/config_dump?proxyID=web-1.shop&types=RDS")).text;
    const question = { objects: weights(30, 70), proxies: ["web-1.shop"] };
    expect((await post(question, "diffz")).text).toContain("60 % of requests move from v1 to v2");
    expect(await sent()).toMatch(/"weight": 90/);
    expect(await sent()).not.toMatch(/"weight": 70/);
    expect((await on.kubectl("apply -f -", weights(30, 70))).code).toBe(0);
    await expect
      .poll(async () => JSON.parse((await post(question, "diffz")).text))
      .toMatchObject({ sentences: [], ignored: [{ object: "VirtualService/shop/reviews", message: "is so already" }] });
  },
);

test.skipIf(needsApi)("a connected proxy without a Pod counts, and what it is sent has its causes", async () => {
  const { pods, plane } = started();
  const machine = { name: "machine", namespace: "shop", address: "10.0.0.66", account: "web", labels: { app: "vm" } };
  const follower = await followAll(pods, plane.ports.secureGrpc, { ...machine, containers: ["app", "istio-proxy"] });
  try {
    const affects = (...how: readonly string[]) =>
      runCli(["get", "vs", "reviews", "-n", "shop", "--affects", "-o", "json", ...api(), ...how]);
    const part = { kind: "route", name: "9080/reviews.shop.svc.cluster.local:9080" };
    const reached = { ...part, proxies: expect.arrayContaining(["machine.shop", "web-1.shop"]) };
    for (const how of [[], address()])
      expect(JSON.parse((await affects(...how)).stdout)).toContainEqual(expect.objectContaining(reached));
    for (const how of [[], ["--control-plane", address()[1] ?? ""]]) {
      const shown = (proxy: string) => runCli(["pc", "cluster", proxy, "--why", ...api(), ...how]);
      const { status, stdout } = await shown("machine.shop");
      expect(status).toBe(0);
      expect(stdout).toMatch(
        /^reviews\.shop\.svc\.cluster\.local .* DestinationRule\/shop\/reviews .*Service\/shop\/reviews/m,
      );
      const unknown = await shown("nobody.shop");
      expect([unknown.status, unknown.stderr]).toEqual([1, expect.stringContaining("nobody.shop")]);
    }
  } finally {
    follower.close();
  }
});

test.skipIf(needsApi)("a change that cannot be read is told, and what is deleted has to be there", async () => {
  const told = async (question: unknown) => JSON.parse((await post(question, "diffz")).text) as object;
  expect(await told({})).toMatchObject({ code: "usage", error: "the change has no object" });
  expect(await told({ objects: "a: [" })).toMatchObject({ code: "invalid" });
  expect(await told({ deleted: ["VirtualService/shop/review"] })).toMatchObject({
    code: "not-found",
    remedy: "did you mean VirtualService shop/reviews?",
  });
  expect(await told({ objects: service, proxies: ["nobody.shop"] })).toMatchObject({ code: "not-found" });
  const deep = `a: ${"[".repeat(1000)}${"]".repeat(1000)}`;
  expect(await told({ objects: deep })).toMatchObject({ code: "invalid" });
  for (const question of ["{", { object: "" }, { resources: 1 }, { deleted: [1] }])
    expect((await post(question, "diffz")).status, JSON.stringify(question)).toBe(400);
});

test("no control plane at the address is told in a line", async () => {
  const { status, stderr } = await why("a", "b", "--address", "127.0.0.1:1");
  expect([status, stderr.split("\n")[0]]).toEqual([1, "fairlead: the control plane at 127.0.0.1:1 does not answer"]);
});
