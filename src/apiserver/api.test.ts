/** The rules of the API that kubectl does not show, over real TLS. */
import { once } from "node:events";
import { request } from "node:https";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlane } from "./server.ts";
import { type Answer, type Credentials, call, credentialsOf, startApi, type TestApi } from "./testing.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, extra: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...extra },
  data: { a: "1" },
});
const metadataOf = (answer: Answer): Record<string, string> => answer.body.metadata as Record<string, string>;

describe("who is asking", () => {
  test("nobody and a stranger are refused", async () => {
    expect((await call(api.server, "GET", "/api", undefined)).code).toBe(401);
    expect((await call(api.server, "GET", "/version", undefined)).code).toBe(401);
    expect((await call(api.server, "GET", "/api", undefined, undefined, { token: "a.b.c" })).code).toBe(401);
  });

  test("a certificate of another authority is nobody's", async () => {
    const other = await startApi();
    const stranger = await credentialsOf(other.server, { user: "fairlead:admin", group: "system:masters" });
    expect((await api.call("GET", "/api", undefined, undefined, stranger)).code).toBe(401);
    await other.close();
  });

  test("a name never stands for more than one part of the path", async () => {
    expect((await api.call("POST", configMaps, configMap("plain"))).code).toBe(201);
    expect((await api.call("GET", `${configMaps}/plain`)).code).toBe(200);
    expect((await api.call("GET", "/api/v1/configmaps/default%2Fplain")).code).toBe(404);
    expect((await api.call("GET", "/api/v1/configmaps/plain")).code).toBe(404);
    expect((await api.call("DELETE", "/api/v1/configmaps/default%2Fplain")).code).toBe(404);
    expect((await api.call("GET", "/api/v1/namespaces/default%2Fplain/configmaps/x")).code).toBe(404);
    expect((await api.call("GET", "//[")).code).toBe(404);
  });

  test("the control plane has the verbs it needs and no others", async () => {
    const as = await credentialsOf(api.server, controlPlane);
    const code = async (method: string, path: string, body?: unknown): Promise<number> =>
      (await api.call(method, path, body, undefined, as)).code;
    expect(await code("GET", "/api/v1/services")).toBe(200);
    expect(await code("GET", "/apis/networking.istio.io/v1/virtualservices")).toBe(200);
    expect(await code("DELETE", "/api/v1/namespaces/default")).toBe(403);
    expect(await code("POST", "/api/v1/namespaces/default/pods", {})).toBe(403);
    expect(await code("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {})).toBe(403);
    expect(await code("DELETE", "/api/v1/namespaces/default/secrets/x")).toBe(403);
  });
});

describe("tokens", () => {
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const order = async (name: string, spec: object): Promise<string> =>
    (
      (
        await api.call("POST", `${accounts}/${name}/token`, {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec,
        })
      ).body.status as { token: string }
    ).token;
  const review = async (token: string, audiences?: string[]): Promise<Record<string, unknown>> =>
    (
      await api.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token, audiences },
      })
    ).body.status as Record<string, unknown>;
  const account = (name: string) =>
    api.call("POST", accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });

  test("are good for the asked audience alone", async () => {
    await account("ann");
    const token = await order("ann", { audiences: ["istio-ca"] });
    expect(await review(token, ["istio-ca"])).toMatchObject({
      authenticated: true,
      user: { username: "system:serviceaccount:default:ann" },
      audiences: ["istio-ca"],
    });
    expect(await review(token, ["other"])).toMatchObject({ authenticated: false });
    expect(await review(token)).toMatchObject({ authenticated: false });
    expect((await api.call("GET", "/api", undefined, undefined, { token })).code).toBe(401);
    const own = await order("ann", {});
    expect((await api.call("GET", "/api", undefined, undefined, { token: own })).code).toBe(200);
    expect((await api.call("GET", "/api/v1/pods", undefined, undefined, { token: own })).code).toBe(403);
  });

  test("die with the Pod they are bound to, also when one of the same name follows", async () => {
    await account("bea");
    const pods = "/api/v1/namespaces/default/pods";
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { serviceAccountName: "bea", containers: [{ name: "c", image: "x" }] },
    };
    const made = await api.call("POST", pods, pod);
    const { uid } = metadataOf(made);
    const foreign = { spec: { boundObjectRef: { kind: "Pod", name: "p", uid } } };
    expect((await api.call("POST", `${accounts}/ann/token`, foreign)).code).toBe(400);
    expect(
      (
        await api.call("POST", `${accounts}/bea/token`, {
          spec: { boundObjectRef: { kind: "Pod", name: "p", uid: "wrong" } },
        })
      ).code,
    ).toBe(409);
    const token = await order("bea", { audiences: ["x"], boundObjectRef: { kind: "Pod", name: "p", uid } });
    expect(await review(token, ["x"])).toMatchObject({
      authenticated: true,
      user: { extra: { "authentication.kubernetes.io/pod-uid": [uid] } },
    });
    await api.call("DELETE", `${pods}/p`);
    expect(await review(token, ["x"])).toMatchObject({ authenticated: false });
    await api.call("POST", pods, pod);
    expect(await review(token, ["x"])).toMatchObject({ authenticated: false });
  });

  test("die with their ServiceAccount, and with a changed signature", async () => {
    await account("cyd");
    const token = await order("cyd", {});
    const [head, body, signature = ""] = token.split(".");
    const forged = `${head}.${body}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    expect(await review(forged)).toMatchObject({ authenticated: false });
    expect(await review(token)).toMatchObject({ authenticated: true });
    await api.call("DELETE", `${accounts}/cyd`);
    await account("cyd");
    expect(await review(token)).toMatchObject({ authenticated: false });
  });
});

describe("writing", () => {
  test("of two who change the same version one is told", async () => {
    const made = await api.call("POST", configMaps, configMap("race"));
    const next = { ...made.body, data: { a: "2" } };
    expect((await api.call("PUT", `${configMaps}/race`, next)).code).toBe(200);
    const late = await api.call("PUT", `${configMaps}/race`, { ...next, data: { a: "3" } });
    expect([late.code, late.body.reason]).toEqual([409, "Conflict"]);
  });

  test("concurrent patches all arrive", async () => {
    await api.call("POST", configMaps, configMap("many"));
    const patches = Array.from({ length: 20 }, (_, i) =>
      api.call("PATCH", `${configMaps}/many`, { data: { [`k${i}`]: "x" } }, "application/merge-patch+json"),
    );
    const codes = (await Promise.all(patches)).map((answer) => answer.code);
    const stored = (await api.call("GET", `${configMaps}/many`)).body.data as object;
    expect(Object.keys(stored).length - 1).toBe(codes.filter((code) => code === 200).length);
    expect(codes).toContain(200);
  });

  test("status is not taken with the spec, nor the spec with the status", async () => {
    const path = "/apis/networking.istio.io/v1/namespaces/default/virtualservices";
    const made = await api.call("POST", path, {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "s" },
      spec: { hosts: ["a"] },
      status: { observedGeneration: 7 },
    });
    expect(made.body.status).toBeUndefined();
    const patched = await api.call(
      "PATCH",
      `${path}/s/status`,
      { spec: { hosts: ["b"] }, status: { observedGeneration: 1 } },
      "application/merge-patch+json",
    );
    expect(patched.body.spec).toEqual({ hosts: ["a"] });
    expect(patched.body.status).toMatchObject({ observedGeneration: 1 });
    expect(metadataOf(patched).generation).toBe(1);
  });

  test("every served version shows the same object", async () => {
    const answer = await api.call("GET", "/apis/networking.istio.io/v1alpha3/namespaces/default/virtualservices/s");
    expect([answer.body.apiVersion, answer.body.spec]).toEqual(["networking.istio.io/v1alpha3", { hosts: ["a"] }]);
  });

  test("finalizers hold an object until they are gone", async () => {
    await api.call("POST", configMaps, configMap("held", { finalizers: ["example.com/x"] }));
    await api.call("DELETE", `${configMaps}/held`);
    const held = await api.call("GET", `${configMaps}/held`);
    expect(metadataOf(held).deletionTimestamp).toBeDefined();
    await api.call("PATCH", `${configMaps}/held`, { metadata: { finalizers: null } }, "application/merge-patch+json");
    expect((await api.call("GET", `${configMaps}/held`)).code).toBe(404);
  });

  test("a Pod that runs is given time; a delete without grace ends it", async () => {
    const pods = "/api/v1/namespaces/default/pods";
    await api.call("POST", pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "running" },
      spec: { nodeName: "n", containers: [{ name: "c", image: "x" }] },
    });
    await api.call("DELETE", `${pods}/running`);
    expect(metadataOf(await api.call("GET", `${pods}/running`)).deletionGracePeriodSeconds).toBe(30);
    await api.call("DELETE", `${pods}/running?gracePeriodSeconds=0`);
    expect((await api.call("GET", `${pods}/running`)).code).toBe(404);
  });

  test("a Namespace ends when it is finalized, and takes nothing new meanwhile", async () => {
    await api.call("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "ending" } });
    await api.call("DELETE", "/api/v1/namespaces/ending");
    expect((await api.call("POST", "/api/v1/namespaces/ending/configmaps", configMap("x"))).code).toBe(403);
    const found = await api.call("GET", "/api/v1/namespaces/ending");
    expect(found.body.status).toEqual({ phase: "Terminating" });
    await api.call("PUT", "/api/v1/namespaces/ending/finalize", { ...found.body, spec: { finalizers: [] } });
    expect((await api.call("GET", "/api/v1/namespaces/ending")).code).toBe(404);
  });

  test("preconditions and generated names", async () => {
    const made = await api.call("POST", configMaps, { ...configMap(""), metadata: { generateName: "gen-" } });
    expect(metadataOf(made).name).toMatch(/^gen-[a-z0-9]{5}$/);
    const wrong = await api.call("DELETE", `${configMaps}/${metadataOf(made).name}`, {
      preconditions: { uid: "other" },
    });
    expect(wrong.code).toBe(409);
  });

  test("nobody grants what they do not have", async () => {
    await api.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      metadata: { name: "role-writer" },
      rules: [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: ["*"].map(() => "create") }],
    });
    await api.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "role-writer" },
      roleRef: { kind: "ClusterRole", name: "role-writer" },
      subjects: [{ kind: "User", name: "mallory" }],
    });
    const as: Credentials = await credentialsOf(api.server, { user: "mallory" });
    const role = (rules: unknown) =>
      api.call(
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        { metadata: { name: "mine" }, rules },
        undefined,
        as,
      );
    expect((await role([{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }])).code).toBe(403);
    const bind = await api.call(
      "POST",
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      {
        metadata: { name: "mine" },
        roleRef: { kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ kind: "User", name: "mallory" }],
      },
      undefined,
      as,
    );
    expect(bind.code).toBe(403);
    expect(
      (await role([{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], verbs: ["create"] }])).code,
    ).toBe(201);
  });
});

describe("bad input", () => {
  test.each([
    ["not JSON", "{", 400],
    ["another kind", { apiVersion: "v1", kind: "Secret", metadata: { name: "x" } }, 400],
    ["another version", { apiVersion: "v9", kind: "ConfigMap", metadata: { name: "x" } }, 400],
    ["no name", { apiVersion: "v1", kind: "ConfigMap", metadata: {} }, 422],
    ["a bad name", configMap("UPPER"), 422],
    ["a bad label", configMap("x", { labels: { "a b": "c" } }), 422],
    ["too deep", `${"[".repeat(200)}${"]".repeat(200)}`, 400],
    ["too large", JSON.stringify(configMap("big")).replace('"1"', `"${"x".repeat(3 * 1024 * 1024)}"`), 413],
    ["a list", [1], 400],
    [
      "a prototype",
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"__proto__":{"polluted":"yes"},"data":{"__proto__":"x"}}',
      201,
    ],
  ])("%s", async (_name, body, code) => {
    expect((await api.call("POST", configMaps, body)).code).toBe(code);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test.each([
    "/api/v1/namespaces/default/nothings",
    "/apis/none.example.com/v1/x",
    "/nowhere",
    "/api/v1/namespaces/%2e%2e/pods/%zz",
  ])("%s is not found", async (path) => {
    expect((await api.call("GET", path)).code).toBe(404);
  });

  test("selectors that make no sense", async () => {
    expect((await api.call("GET", `${configMaps}?labelSelector=a%3Db%3Dc`)).code).toBe(400);
    expect((await api.call("GET", `${configMaps}?fieldSelector=spec.x%3D1`)).code).toBe(400);
  });
});

describe("lists and watches", () => {
  test("pages show one moment, whatever happens in between", async () => {
    const path = "/api/v1/namespaces/kube-public/configmaps";
    for (const name of ["a", "b", "c", "d", "e"]) await api.call("POST", path, configMap(name));
    const first = await api.call("GET", `${path}?limit=2`);
    await api.call("DELETE", `${path}/c`);
    await api.call("POST", path, configMap("bb"));
    const names: string[] = [];
    for (let page = first; ; ) {
      names.push(...(page.body.items as { metadata: { name: string } }[]).map((item) => item.metadata.name));
      const next = metadataOf(page).continue;
      expect(metadataOf(page).resourceVersion).toBe(metadataOf(first).resourceVersion);
      if (next === undefined) break;
      page = await api.call("GET", `${path}?limit=2&continue=${next}`);
    }
    expect(names).toEqual(["a", "b", "c", "d", "e"]);
    expect((await api.call("GET", `${path}?continue=nonsense`)).code).toBe(400);
  });

  test("a watch goes on where it is told to, and an object that leaves the selector is gone", async () => {
    const start = metadataOf(await api.call("GET", configMaps)).resourceVersion;
    await api.call("POST", configMaps, configMap("w", { labels: { on: "yes" } }));
    await api.call("PATCH", `${configMaps}/w`, { metadata: { labels: { on: "no" } } }, "application/merge-patch+json");
    const events = await watch(api, `${configMaps}?watch=1&resourceVersion=${start}&labelSelector=on%3Dyes`, 2);
    expect(events.map((e) => [e.type, e.object.metadata?.name])).toEqual([
      ["ADDED", "w"],
      ["DELETED", "w"],
    ]);
  });

  test("bookmarks come, and a version that is gone is told as 410", async () => {
    const small = await startApi({ historyLimit: 4, watchTimes: { bookmarkMs: 50, maxMs: 60_000 } });
    const start = metadataOf(await small.call("GET", configMaps)).resourceVersion;
    const [bookmark] = await watch(small, `${configMaps}?watch=1&allowWatchBookmarks=true&resourceVersion=${start}`, 1);
    expect(bookmark?.type).toBe("BOOKMARK");
    for (let i = 0; i < 8; i++) await small.call("POST", configMaps, configMap(`n${i}`));
    const [gone] = await watch(small, `${configMaps}?watch=1&resourceVersion=${start}`, 1);
    expect([gone?.type, gone?.object.code, gone?.object.reason]).toEqual(["ERROR", 410, "Expired"]);
    await small.close();
  });

  test("a version from the future is not served", async () => {
    expect((await api.call("GET", `${configMaps}?resourceVersion=999999999`)).code).toBe(504);
    expect((await api.call("GET", `${configMaps}?resourceVersion=x`)).code).toBe(400);
  });
});

interface Event {
  readonly type: string;
  readonly object: { readonly metadata?: { readonly name?: string }; readonly code?: number; readonly reason?: string };
}

/** The first events of a watch. */
function watch(from: TestApi, path: string, count: number): Promise<readonly Event[]> {
  return new Promise((resolve, reject) => {
    const sent = request(`${from.server.url}${path}`, { ca: from.server.ca, ...from.admin, agent: false }, (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        const lines = text.split("\n").slice(0, -1);
        if (lines.length < count) return;
        sent.destroy();
        resolve(lines.map((line) => JSON.parse(line)));
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

test("a client that never begins its handshake keeps the API from nothing, not even from ending", async () => {
  const own = await startApi();
  const silent = connect(Number(new URL(own.server.url).port), "127.0.0.1");
  silent.on("error", () => {});
  await once(silent, "connect");
  await own.call("GET", "/api");
  await own.close();
  if (!silent.destroyed) await once(silent, "close");
}, 300_000);
