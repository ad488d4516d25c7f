/** Reading a list page by page: a token continues its own list, for its own reader, and nothing else. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selected } from "./read.ts";
import { type Answer, type Credentials, credentialsOf, startApi, type TestApi } from "./testing.ts";

let api: TestApi;
let clock = Date.now();
let ann: Credentials;
let ben: Credentials;

const configMaps = "/api/v1/namespaces/shop/configmaps";
const secrets = "/api/v1/namespaces/shop/secrets";
const rbac = "rbac.authorization.k8s.io";
const roleBindings = `/apis/${rbac}/v1/namespaces/shop/rolebindings`;

const bind = (user: string): object => ({
  metadata: { name: user },
  roleRef: { apiGroup: rbac, kind: "Role", name: "lister" },
  subjects: [{ apiGroup: rbac, kind: "User", name: user }],
});

beforeAll(async () => {
  api = await startApi({ now: () => new Date(clock) });
  await api.call("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
  await api.call("POST", `/apis/${rbac}/v1/namespaces/shop/roles`, {
    metadata: { name: "lister" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }],
  });
  for (const user of ["ann", "ben"]) await api.call("POST", roleBindings, bind(user));
  for (const name of ["a", "b", "c", "d", "e"]) {
    await api.call("POST", configMaps, { metadata: { name, labels: { letter: name } }, data: { a: name } });
    await api.call("POST", secrets, { metadata: { name }, stringData: { password: `secret-${name}` } });
  }
  ann = await credentialsOf(api.server, { user: "ann" });
  ben = await credentialsOf(api.server, { user: "ben" });
});
afterAll(() => api.close());

const list = (path: string, query: string, as: Credentials = api.admin): Promise<Answer> =>
  api.call("GET", `${path}?${query}`, undefined, undefined, as);
const tokenOf = async (path: string, query: string, as?: Credentials): Promise<string> =>
  String(((await list(path, query, as)).body.metadata as Record<string, unknown>).continue);
const namesOf = (answer: Answer): readonly string[] =>
  (answer.body.items as { metadata: { name: string } }[]).map((item) => item.metadata.name);

describe("a continue token", () => {
  test("reads on where the page before ended", async () => {
    const token = await tokenOf(configMaps, "limit=2", ann);
    expect(namesOf(await list(configMaps, `limit=2&continue=${token}`, ann))).toEqual(["c", "d"]);
    // A page can be asked for again, as after a lost answer.
    expect(namesOf(await list(configMaps, `continue=${token}`, ann))).toEqual(expect.arrayContaining(["c", "d", "e"]));
  });

  test.each([
    ["another kind", secrets, "limit=2"],
    ["another namespace", "/api/v1/namespaces/default/configmaps", "limit=2"],
    ["all namespaces", "/api/v1/configmaps", "limit=2"],
    ["another label selector", configMaps, "limit=2&labelSelector=letter%3Da"],
    ["another field selector", configMaps, "limit=2&fieldSelector=metadata.name%3Da"],
  ])("is refused for %s", async (_what, path, query) => {
    const token = await tokenOf(configMaps, "limit=2");
    const answer = await list(path, `${query}&continue=${token}`);
    expect([answer.code, answer.body.reason]).toEqual([400, "BadRequest"]);
  });

  test("is refused for another user", async () => {
    const token = await tokenOf(configMaps, "limit=2");
    expect((await list(configMaps, `limit=2&continue=${token}`, ann)).code).toBe(400);
    const own = await tokenOf(configMaps, "limit=2", ann);
    expect((await list(configMaps, `limit=2&continue=${own}`, ben)).code).toBe(400);
  });

  test("of somebody who pages Secrets gives nobody a Secret", async () => {
    const token = await tokenOf(secrets, "limit=1");
    expect((await list(configMaps, `limit=1&continue=${token}`, ann)).code).toBe(400);
    // Written by hand, with every list that has been kept so far and every counter that could follow.
    const [payload = ""] = token.split(".");
    const known = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
    for (const value of [
      { id: "1312-1", from: 0 },
      { ...known, from: 0 },
      { ...known, list: 1, from: 0 },
    ]) {
      const forged = Buffer.from(JSON.stringify(value)).toString("base64url");
      for (const text of [forged, `${forged}.`, `${forged}.AAAA`, `${forged}.${token.split(".")[1]}`])
        expect((await list(configMaps, `continue=${text}`, ann)).code, text).toBe(400);
    }
  });

  test("is worth nothing to somebody who may no longer list", async () => {
    const token = await tokenOf(configMaps, "limit=2", ben);
    await api.call("DELETE", `${roleBindings}/ben`);
    expect((await list(configMaps, `limit=2&continue=${token}`, ben)).code).toBe(403);
    await api.call("POST", roleBindings, bind("ben"));
    expect((await list(configMaps, `limit=2&continue=${token}`, ben)).code).toBe(200);
  });

  test("of an earlier process or of long ago asks for a new list", async () => {
    const other = await startApi();
    await other.call("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
    for (const name of ["a", "b"]) await other.call("POST", configMaps, { metadata: { name } });
    const page = await other.call("GET", `${configMaps}?limit=1`);
    await other.close();
    const foreign = String((page.body.metadata as Record<string, unknown>).continue);
    expect((await list(configMaps, `continue=${foreign}`)).body.reason).toBe("Expired");
    const token = await tokenOf(configMaps, "limit=2");
    clock += 6 * 60_000;
    expect((await list(configMaps, `continue=${token}`)).body.reason).toBe("Expired");
  });

  test("survives others who begin many lists", async () => {
    const token = await tokenOf(configMaps, "limit=2", ann);
    for (let i = 0; i < 80; i++) await list(configMaps, "limit=1");
    expect((await list(configMaps, `limit=2&continue=${token}`, ann)).code).toBe(200);
  });
});

test("a limit that is not a whole number is refused", async () => {
  for (const limit of ["1e-9", "1.5", "x", "%00"])
    expect((await api.call("GET", `/api/v1/namespaces?limit=${limit}`)).code, limit).toBe(400);
  expect((await api.call("GET", "/api/v1/namespaces?limit=1")).code).toBe(200);
});

test("a long list is looked through in many turns", () => {
  const objects = Array.from({ length: 1_000 }, (_, i) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `c${i}` },
  }));
  const steps = selected(objects, ({ metadata }) => metadata.name.endsWith("7"));
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses++;
  expect(pauses).toBeGreaterThan(10);
  expect(step.value).toHaveLength(100);
});
