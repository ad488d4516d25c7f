/** What is applied from the page: a control plane on a real API, written to by users with rights of their own. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyObjects } from "../../src/control-plane/index.ts";
import { startAgents, type TestAgents } from "../../src/control-plane/traffic/testing.ts";
import type { ApplyAnswer } from "../../src/dashboard/index.ts";
import { claimBearer, createKubeClient, type KubeClient, kindRef, loadKubeconfig } from "../../src/kube/index.ts";
import { kindOf } from "../../src/model/index.ts";
import { ask, type DashboardPlane, signIn, startDashboardPlane } from "./dashboard-plane.ts";

let mesh: DashboardPlane;
let agents: TestAgents;
/** Bearers: of who may write in alpha, and of who may nothing. */
let [writer, stranger] = ["", ""];

const route = (name: string, host: string, namespace = "alpha"): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: ${name}, namespace: ${namespace} }
spec: { hosts: [${host}], http: [{ route: [{ destination: { host: ${host} } }] }] }
`;

beforeAll(async () => {
  mesh = await startDashboardPlane({}, { edit: true });
  agents = await startAgents(mesh.world);
  await mesh.world.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "alpha" } });
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/alpha";
  const apiVersion = "rbac.authorization.k8s.io/v1";
  await mesh.world.admin.raw("POST", `${rbac}/roles`, {
    ...{ apiVersion, kind: "Role", metadata: { name: "writer" } },
    rules: [{ apiGroups: ["networking.istio.io"], resources: ["virtualservices"], verbs: ["*"] }],
  });
  writer = await agents.token("writer", "alpha", []);
  stranger = await agents.token("stranger", "alpha", []);
  await mesh.world.admin.raw("POST", `${rbac}/rolebindings`, {
    ...{ apiVersion, kind: "RoleBinding", metadata: { name: "writer" } },
    subjects: [{ kind: "ServiceAccount", name: "writer", namespace: "alpha" }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "writer" },
  });
});
afterAll(async () => {
  agents.close();
  await mesh.close();
});

const post = (bearer: string, question: unknown) =>
  ask(mesh.origin(), "/api/apply", {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}` },
    body: typeof question === "string" ? question : JSON.stringify(question),
  });
const apply = async (bearer: string, question: unknown): Promise<ApplyAnswer> =>
  JSON.parse((await post(bearer, question)).text) as ApplyAnswer;

function virtualServices() {
  const kind = kindOf("networking.istio.io/v1", "VirtualService");
  if (!kind) throw new Error("there is no such kind");
  return kindRef(kind);
}
const hostsOf = async (name: string): Promise<unknown> =>
  (await mesh.world.admin.get(virtualServices(), { name, namespace: "alpha" })).spec;

test("each writes with their own rights", async () => {
  expect(await apply(writer, { objects: route("web", "one") })).toEqual({
    applied: [{ object: "VirtualService/alpha/web", generation: 1 }],
    refused: [],
  });
  const denied = await apply(stranger, { objects: route("web", "two"), force: true });
  expect(denied).toMatchObject({ applied: [], refused: [{ object: "VirtualService/alpha/web" }] });
  expect(denied.refused[0]?.message).toContain("cannot patch");
  expect(denied.refused[0]?.remedy).toContain("Ask for the right");
  expect(await hostsOf("web")).toMatchObject({ hosts: ["one"] });
  // Whoever holds the secret of the mesh has the kubeconfig of the mesh.
  expect(await apply(await signIn(mesh), { objects: route("own", "one") })).toMatchObject({ refused: [] });
  // Nobody can write with what the control plane itself may.
  expect((await post(claimBearer("s".repeat(43)), { objects: route("web", "three") })).status).toBe(401);
  expect((await post("", { objects: route("web", "three") })).status).toBe(401);
});

test("what others have set is taken over only where that is said, and what has changed meanwhile is not overwritten", async () => {
  const made = await mesh.world.admin.patch(
    virtualServices(),
    { name: "shared", namespace: "alpha" },
    "apply",
    {
      ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "shared" } },
      spec: { hosts: ["old"], http: [{ route: [{ destination: { host: "old" } }] }] },
    },
    { fieldManager: "argocd", force: true },
  );
  const { refused } = await apply(writer, { objects: route("shared", "new") });
  expect(refused).toMatchObject([{ isOwned: true, message: expect.stringContaining('"argocd"') }]);
  expect(await hostsOf("shared")).toMatchObject({ hosts: ["old"] });
  expect((await apply(writer, { objects: route("shared", "new"), force: true })).refused).toEqual([]);
  expect(await hostsOf("shared")).toMatchObject({ hosts: ["new"] });
  const { resourceVersion } = made.metadata;
  const late = await apply(writer, { objects: route("shared", "late"), force: true, resourceVersion });
  expect(late.refused).toMatchObject([{ remedy: expect.stringContaining("open it again") }]);
  expect(await hostsOf("shared")).toMatchObject({ hosts: ["new"] });
});

test("nothing is applied where the API refuses one, and what is wrong is said", async () => {
  const bad = route("bad", "x").replace("hosts: [x]", "hostz: [x]");
  const answer = await apply(writer, { objects: `${route("good", "x")}---${bad}` });
  expect(answer).toMatchObject({ applied: [], refused: [{ object: "VirtualService/alpha/bad" }] });
  expect(answer.refused[0]?.message).toContain("hostz");
  await expect(hostsOf("good")).rejects.toThrow(/not found/);
});

test("where the API is lost between two objects, it is told what was applied, what may be, and what was not sent", async () => {
  const client = createKubeClient(await loadKubeconfig({ paths: [mesh.world.api.kubeconfig], env: {} }));
  const lost: KubeClient = {
    ...client,
    patch(kind, ref, type, patch, options) {
      if (ref.name === "second" && options?.dryRun !== true) client.close();
      return client.patch(kind, ref, type, patch, options);
    },
  };
  const objects = ["first", "second", "third"].map((name) => route(name, "x")).join("---");
  expect(await applyObjects(lost, { objects })).toMatchObject({
    applied: [{ object: "VirtualService/alpha/first", generation: 1 }],
    refused: [
      { object: "VirtualService/alpha/second", message: expect.stringContaining("client is closed") },
      { object: "VirtualService/alpha/third", message: expect.stringContaining("not sent") },
    ],
  });
  expect(await hostsOf("first")).toMatchObject({ hosts: ["x"] });
  await expect(hostsOf("third")).rejects.toThrow(/not found/);
  // Nothing was written: there is nothing to be told but the failure.
  await expect(applyObjects(lost, { objects })).rejects.toThrow(/client is closed/);
});

test.each([
  ["{", 400],
  ["[]", 400],
  [{ objects: 1 }, 400],
  [{ objects: "", more: 1 }, 400],
  [{ objects: "" }, 400],
  [{ objects: "a: &a [*a]" }, 400],
  [{ objects: "apiVersion: v1\nkind: Secret\nmetadata: { name: x }" }, 400],
  [{ objects: "apiVersion: networking.istio.io/v1\nkind: VirtualService" }, 400],
  [{ objects: `# ${"x".repeat(1_100_000)}` }, 413],
])("%j is refused", async (question, status) => {
  const answer = await post(writer, question);
  expect([answer.status, JSON.parse(answer.text)]).toEqual([
    status,
    expect.objectContaining({ error: expect.any(String) }),
  ]);
});

test("a page that is for reading says so, and what allows more", async () => {
  const other = await startDashboardPlane();
  try {
    const headers = { authorization: `Bearer ${await signIn(other)}` };
    const body = JSON.stringify({ objects: route("web", "one") });
    const { status, text } = await ask(other.origin(), "/api/apply", { method: "POST", headers, body });
    expect([status, text]).toEqual([403, expect.stringContaining("--dashboard-edit")]);
    expect((await ask(other.origin(), "/api/abilities", { headers })).text).toBe('{"edit":false}');
  } finally {
    await other.close();
  }
});
