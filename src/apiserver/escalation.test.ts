/** Ways by which somebody with a few rights could get more, each over real TLS; all are refused. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Credentials, credentialsOf, startApi, type TestApi } from "./testing.ts";

const rbac = "rbac.authorization.k8s.io";
const apis = `/apis/${rbac}/v1`;
const roles = `${apis}/namespaces/shop/roles`;
const bindings = `${apis}/namespaces/shop/rolebindings`;
const configMaps = "/api/v1/namespaces/shop/configmaps";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
  await api.call("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
  await api.call("POST", `${apis}/clusterroles`, {
    metadata: { name: "secret-reader" },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  });
});
afterAll(() => api.close());

const ref = (kind: string, name: string): object => ({ apiGroup: rbac, kind, name });
const users = (...names: readonly string[]): readonly object[] =>
  names.map((name) => ({ apiGroup: rbac, kind: "User", name }));

/** A user of that name who has these rules in the namespace shop. */
async function userWith(name: string, ...rules: readonly object[]): Promise<Credentials> {
  await api.call("POST", roles, { metadata: { name }, rules });
  await api.call("POST", bindings, { metadata: { name }, roleRef: ref("Role", name), subjects: users(name) });
  return credentialsOf(api.server, { user: name });
}

const onBindings = { apiGroups: [rbac], resources: ["rolebindings"], verbs: ["create", "update"] };
const bind = (as: Credentials, name: string, roleRef: object): Promise<Answer> =>
  api.call("POST", bindings, { metadata: { name }, roleRef, subjects: users("x") }, undefined, as);

test("the right to bind is for the role that is bound, not for a binding of that name", async () => {
  const eve = await userWith("eve", onBindings, {
    apiGroups: [rbac],
    resources: ["clusterroles"],
    resourceNames: ["mine"],
    verbs: ["bind"],
  });
  const refused = await bind(eve, "mine", ref("ClusterRole", "secret-reader"));
  expect([refused.code, String(refused.body.message)]).toEqual([
    403,
    expect.stringContaining("is attempting to grant RBAC permissions not currently held"),
  ]);
  const fay = await userWith("fay", onBindings, {
    apiGroups: [rbac],
    resources: ["clusterroles"],
    resourceNames: ["secret-reader"],
    verbs: ["bind"],
  });
  expect((await bind(fay, "any", ref("ClusterRole", "secret-reader"))).code).toBe(201);
});

test("a role that does not exist yet cannot be bound in advance", async () => {
  const gil = await userWith("gil", onBindings);
  expect((await bind(gil, "early", ref("Role", "soon"))).code).toBe(404);
  expect((await bind(gil, "early", ref("ClusterRole", "soon"))).code).toBe(404);
});

test("what is posted to the path of one object makes no other", async () => {
  const hal = await userWith("hal", {
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: ["hers"],
    verbs: ["create", "delete"],
  });
  const posted = await api.call("POST", `${configMaps}/hers`, { metadata: { name: "others" } }, undefined, hal);
  expect(posted.code).toBe(405);
  expect((await api.call("GET", `${configMaps}/others`)).code).toBe(404);
});

test("server-side apply makes nothing without the right to create", async () => {
  const ian = await userWith("ian", { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "patch"] });
  const apply = (name: string): Promise<Answer> =>
    api.call(
      "PATCH",
      `${configMaps}/${name}?fieldManager=t`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name } },
      "application/apply-patch+yaml",
      ian,
    );
  expect((await apply("fresh")).code).toBe(403);
  expect((await api.call("GET", `${configMaps}/fresh`)).code).toBe(404);
  await api.call("POST", configMaps, { metadata: { name: "there" } });
  expect((await apply("there")).code).toBe(200);
});

test("the user * is somebody of that name", async () => {
  await api.call("POST", bindings, {
    metadata: { name: "star" },
    roleRef: ref("ClusterRole", "secret-reader"),
    subjects: users("*"),
  });
  const joe = await credentialsOf(api.server, { user: "joe" });
  const secret = "/api/v1/namespaces/shop/secrets/s";
  expect((await api.call("GET", secret, undefined, undefined, joe)).code).toBe(403);
  const star = await credentialsOf(api.server, { user: "*" });
  expect((await api.call("GET", secret, undefined, undefined, star)).code).toBe(404);
});

test("a ClusterRoleBinding names no Role, and one that did would give nothing", async () => {
  await api.call("POST", "/api/v1/namespaces", { metadata: { name: "undefined" } });
  await api.call("POST", `${apis}/namespaces/undefined/roles`, {
    metadata: { name: "all" },
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
  });
  const made = await api.call("POST", `${apis}/clusterrolebindings`, {
    metadata: { name: "odd" },
    roleRef: ref("Role", "all"),
    subjects: users("kim"),
  });
  expect([made.code, String(made.body.message)]).toEqual([422, expect.stringContaining("roleRef.kind")]);
});

test("edit writes neither Endpoints nor EndpointSlices", async () => {
  await api.call("POST", bindings, {
    metadata: { name: "lea" },
    roleRef: ref("ClusterRole", "edit"),
    subjects: users("lea"),
  });
  const lea = await credentialsOf(api.server, { user: "lea" });
  const code = async (path: string, body: object): Promise<number> =>
    (await api.call("POST", `${path}?dryRun=All`, body, undefined, lea)).code;
  await expect.poll(() => code(configMaps, { metadata: { name: "n" } })).toBe(201);
  expect(await code("/api/v1/namespaces/shop/endpoints", { metadata: { name: "n" } })).toBe(403);
  expect(
    await code("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", {
      metadata: { name: "n" },
      addressType: "IPv4",
      endpoints: [],
    }),
  ).toBe(403);
});

test("a right on a subresource is none on its object", async () => {
  const max = await userWith("max", {
    apiGroups: [""],
    resources: ["pods/status", "pods/eviction", "serviceaccounts/token"],
    verbs: ["*"],
  });
  const pod = "/api/v1/namespaces/shop/pods/p";
  await api.call("POST", "/api/v1/namespaces/shop/pods", {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await api.call("POST", "/api/v1/namespaces/shop/serviceaccounts", { metadata: { name: "s" } });
  const code = async (method: string, path: string, body?: object): Promise<number> =>
    (await api.call(method, path, body, undefined, max)).code;
  expect(await code("DELETE", `${pod}/status`)).toBe(405);
  expect(await code("DELETE", `${pod}/eviction`)).toBe(405);
  expect(await code("PUT", `${pod}/eviction`, { metadata: { name: "p" } })).toBe(405);
  expect(await code("GET", "/api/v1/namespaces/shop/serviceaccounts/s/token")).toBe(405);
  expect((await api.call("GET", pod)).code).toBe(200);
});

test("a list by one name is one of that name", async () => {
  const nan = await userWith("nan", {
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: ["hers"],
    verbs: ["list"],
  });
  await api.call("POST", configMaps, { metadata: { name: "hers" } });
  const list = (selector: string): Promise<Answer> =>
    api.call("GET", `${configMaps}?fieldSelector=${encodeURIComponent(selector)}`, undefined, undefined, nan);
  expect((await list("metadata.name=hers")).body.items).toHaveLength(1);
  for (const selector of ["", "metadata.name=others", "metadata.name!=hers", "metadata.namespace=hers"])
    expect((await list(selector)).code, selector).toBe(403);
});

test("who aggregates roles has all rights already", async () => {
  const author = { apiGroups: [rbac], resources: ["clusterroles"], verbs: ["create"] };
  await api.call("POST", `${apis}/clusterroles`, { metadata: { name: "author" }, rules: [author] });
  await api.call("POST", `${apis}/clusterrolebindings`, {
    metadata: { name: "author" },
    roleRef: ref("ClusterRole", "author"),
    subjects: users("oda"),
  });
  const oda = await credentialsOf(api.server, { user: "oda" });
  const sum = {
    metadata: { name: "sum" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "kubernetes.io/bootstrapping": "rbac-defaults" } }] },
    rules: [],
  };
  expect((await api.call("POST", `${apis}/clusterroles`, sum, undefined, oda)).code).toBe(403);
});

test("all rights in one namespace are none on the others", async () => {
  await api.call("POST", "/api/v1/namespaces", { metadata: { name: "other" } });
  const pia = await userWith("pia", { apiGroups: ["*"], resources: ["*"], verbs: ["*"] });
  const ask = (method: string, path: string, body?: object): Promise<Answer> =>
    api.call(method, path, body, method === "PATCH" ? "application/merge-patch+json" : undefined, pia);
  const inside = "/api/v1/namespaces/shop/namespaces";
  expect((await ask("GET", "/api/v1/namespaces/shop")).code).toBe(200);
  expect((await ask("GET", inside)).code).toBe(404);
  expect((await ask("POST", inside, { metadata: { name: "new" } })).code).toBe(404);
  expect((await ask("GET", `${inside}/other`)).code).toBe(404);
  expect((await ask("PATCH", `${inside}/other`, { metadata: { labels: { a: "b" } } })).code).toBe(404);
  expect((await ask("PUT", `${inside}/other/finalize`, { spec: {} })).code).toBe(404);
  expect((await ask("DELETE", `${inside}/other`)).code).toBe(404);
  expect((await api.call("GET", "/api/v1/namespaces/other")).code).toBe(200);
});

describe("a short role that stands for very many permissions", () => {
  const names = (prefix: string): readonly string[] => Array.from({ length: 100 }, (_, i) => `${prefix}${i}`);
  const many = { apiGroups: names("g"), resources: names("r"), resourceNames: names("n"), verbs: names("v") };
  const onRoles = { apiGroups: [rbac], resources: ["roles"], verbs: ["create"] };

  test("is not written out to be compared", async () => {
    const quin = await userWith("quin", onRoles);
    const answer = await api.call("POST", roles, { metadata: { name: "many" }, rules: [many] }, undefined, quin);
    expect([answer.code, answer.body.reason]).toEqual([413, "RequestEntityTooLarge"]);
  });

  test("may be granted by who has all of it", async () => {
    const ravi = await userWith("ravi", onRoles, { apiGroups: ["*"], resources: ["*"], verbs: ["*"] });
    const answer = await api.call("POST", roles, { metadata: { name: "held" }, rules: [many] }, undefined, ravi);
    expect(answer.code).toBe(201);
  });
});

describe("roles of thousands of rules", () => {
  const onRoles = { apiGroups: [rbac], resources: ["roles"], verbs: ["create"] };
  const many = (rule: (i: number) => object): readonly object[] => Array.from({ length: 4_000 }, (_, i) => rule(i));
  const grant = (as: Credentials, name: string, rules: readonly object[]): Promise<Answer> =>
    api.call("POST", roles, { metadata: { name }, rules }, undefined, as);

  test("are granted by who has them, each by what it is for", async () => {
    const onThings = many((i) => ({ apiGroups: [""], resources: [`things${i}`], verbs: ["get"] }));
    const mia = await userWith("mia", onRoles, ...onThings);
    expect((await grant(mia, "mia-again", onThings)).code).toBe(201);
    const more = await grant(mia, "mia-more", [
      ...onThings,
      { apiGroups: [""], resources: ["others"], verbs: ["get"] },
    ]);
    expect([more.code, String(more.body.message)]).toEqual([403, expect.stringContaining('Resources:["others"]')]);
  });

  test("on one resource are too many to be compared each with each", async () => {
    const onNames = many((i) => ({ apiGroups: [""], resources: ["pods"], resourceNames: [`p${i}`], verbs: ["get"] }));
    const zoe = await userWith("zoe", onRoles, ...onNames);
    expect((await grant(zoe, "zoe-again", onNames)).code).toBe(413);
    expect((await grant(zoe, "zoe-some", onNames.slice(0, 50))).code).toBe(201);
  });
});

test("of thousands of subjects each is found, and nobody else", async () => {
  const subjects = [
    ...users(...Array.from({ length: 8_000 }, (_, i) => `u${i}`)),
    { kind: "ServiceAccount", name: "sa" },
  ];
  await api.call("POST", bindings, {
    metadata: { name: "crowd" },
    roleRef: ref("ClusterRole", "secret-reader"),
    subjects,
  });
  const may = async (user: string): Promise<unknown> => {
    const resourceAttributes = { namespace: "shop", verb: "get", resource: "secrets", name: "s" };
    const review = { spec: { user, resourceAttributes } };
    const { body } = await api.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review);
    return (body.status as { allowed: boolean }).allowed;
  };
  expect(await Promise.all(["u7999", "u8000", "system:serviceaccount:shop:sa", "sa"].map(may))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
