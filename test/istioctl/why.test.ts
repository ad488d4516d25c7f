/** `fairlead why` on a running control plane: what its proxies have been sent says the same as the objects would. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { type Answer, ask } from "../http/ask.ts";
import { lacks } from "../require.ts";
import { type Mesh, startMesh } from "./mesh.ts";
import { startFairlead } from "./planes.ts";

let mesh: Mesh | undefined;
const started = (): Mesh => {
  if (!mesh) throw new Error("not started");
  return mesh;
};
beforeAll(async () => {
  mesh = await startMesh(startFairlead);
}, 60_000);
afterAll(() => mesh?.close());

const token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJub2JvZHkifQ.c2lnbmF0dXJl";
const needsApi = lacks("kubectl");

const why = (...words: readonly string[]) => runCli(["why", ...words]);
const address = (): readonly string[] => ["--address", `127.0.0.1:${started().plane.ports.monitoring}`];
const api = (): readonly string[] => ["--kubeconfig", started().pods.api.kubeconfig];

async function post(question: unknown): Promise<Answer> {
  const { monitoring } = started().plane.ports;
  const body = typeof question === "string" ? question : JSON.stringify(question);
  return ask(monitoring, "/debug/whyz", { method: "POST", headers: { host: "localhost" }, body });
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
  expect(JSON.parse(live.stdout)).toEqual(JSON.parse(worked.stdout));
  expect(live.status).toBe(worked.status);
});

test.skipIf(needsApi)("the control plane of a cluster is found through its API", async () => {
  const [found, named] = await Promise.all([
    why("web.shop", "reviews", ...api()),
    why("web.shop", "reviews", ...address()),
  ]);
  expect(found).toEqual(named);
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
    .poll(async () => (await why("late.shop", "web/x", ...address())).stdout, { timeout: 20_000 })
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

test("no control plane at the address is told in a line", async () => {
  const { status, stderr } = await why("a", "b", "--address", "127.0.0.1:1");
  expect([status, stderr.split("\n")[0]]).toEqual([1, "fairlead: the control plane at 127.0.0.1:1 does not answer"]);
});
