/** Small requests that stand for much, over real TLS: each is refused, and nobody else waits for it. */
import { once } from "node:events";
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { spendCpu } from "../../test/cpu-time.ts";
import { createLogger } from "../lib/index.ts";
import { type Answer, startApi, type TestApi } from "./testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const services = "/api/v1/namespaces/default/services";
const json = "application/json-patch+json";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const apply = "application/apply-patch+yaml";

let api: TestApi;
let clock = (): Date => new Date();
const lines: string[] = [];
beforeAll(async () => {
  const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date() });
  api = await startApi({ log, now: () => clock() });
});
afterAll(() => api.close());

const make = (name: string, data: object): Promise<Answer> =>
  api.call("POST", configMaps, { metadata: { name }, data });
const patch = (name: string, body: unknown, type: string): Promise<Answer> =>
  api.call("PATCH", `${configMaps}/${name}?fieldManager=t`, body, type);
const numbered = (count: number, value: string): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));
const repeat = <T>(count: number, item: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));

describe("YAML", () => {
  const bomb = (levels: number, times: number): string =>
    [
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata: {name: bomb}",
      `l0: &l0 [${"x,".repeat(times)}x]`,
      ...repeat(levels, (i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(times)}1]`),
    ].join("\n");

  test.each([
    ["90 aliases in nine levels", bomb(9, 10)],
    ["six levels", bomb(6, 9)],
  ])("%s, as an object and as an apply", async (_what, text) => {
    expect(text.length).toBeLessThan(1_172);
    expect((await api.call("POST", configMaps, text, "application/yaml")).code).toBe(400);
    expect((await patch("bomb", text, apply)).code).toBe(400);
  });

  test("a long text is refused before it is read", async () => {
    const text = `metadata: {name: long}\ndata:\n${"  # nothing\n".repeat(80_000)}`;
    expect((await api.call("POST", configMaps, text, "application/yaml")).code).toBe(413);
  });
});

describe("a JSON patch", () => {
  beforeAll(async () => {
    await make("copied", { a: "x".repeat(100) });
    await make("list", { a: "1" });
    await api.call("POST", services, { metadata: { name: "many" }, spec: { ports: [{ name: "a", port: 1 }] } });
  });

  test("of 19 copies, each of all that there is", async () => {
    const steps = repeat(19, (i) => ({ op: "copy", from: "/data", path: `/data/c${i}` }));
    const answer = await patch("copied", steps, json);
    expect([answer.code, answer.body.reason]).toEqual([413, "RequestEntityTooLarge"]);
  });

  test("that makes an object deeper with each copy", async () => {
    const steps = repeat(12, (i) => ({ op: "copy", from: "/data", path: `/data${"/b".repeat(2 ** i)}` }));
    expect((await patch("copied", [{ op: "add", path: "/data", value: {} }, ...steps], json)).code).toBe(413);
  });

  test("of more operations than are taken", async () => {
    const steps = repeat(10_001, () => ({ op: "test", path: "/kind", value: "ConfigMap" }));
    expect((await patch("copied", steps, json)).code).toBe(413);
    expect((await patch("copied", steps.slice(1), json)).code).toBe(200);
  });

  test("that moves a long list along with each operation", async () => {
    const steps = [
      { op: "add", path: "/list", value: repeat(30_000, () => 0) },
      ...repeat(5_000, () => ({ op: "add", path: "/list/0", value: 0 })),
    ];
    const answer = await patch("list", steps, json);
    expect([answer.code, String(answer.body.message)]).toEqual([413, "the JSON patch takes too much work"]);
  });

  test("that compares a large map again and again", async () => {
    const fill = { op: "add", path: "/data", value: numbered(10_000, "x") };
    const compare = { op: "test", path: "/data", value: {} };
    expect((await patch("list", [fill, compare], json)).code).toBe(422);
    // A test of a value that is the same would have to bring it along: the copy is what can be had for nothing.
    const copies = repeat(300, () => ({ op: "copy", from: "/data", path: "/again" }));
    expect((await patch("list", [fill, ...copies], json)).code).toBe(413);
  });

  test("of a webhook's size does what RFC 6902 says", async () => {
    await make("rfc", { a: "1", list: "x" });
    const steps = [
      { op: "test", path: "/data/a", value: "1" },
      { op: "add", path: "/data/b~1c", value: "2" },
      { op: "copy", from: "/data/b~1c", path: "/data/d" },
      { op: "move", from: "/data/a", path: "/data/e" },
      { op: "replace", path: "/data/d", value: "3" },
      { op: "remove", path: "/data/list" },
      { op: "add", path: "/metadata/finalizers", value: ["a.b/c"] },
      { op: "add", path: "/metadata/finalizers/-", value: "a.b/e" },
      { op: "add", path: "/metadata/finalizers/1", value: "a.b/d" },
      { op: "remove", path: "/data/b~1c" },
    ];
    const { body } = await patch("rfc", steps, json);
    expect(body.data).toEqual({ d: "3", e: "1" });
    expect((body.metadata as { finalizers: unknown }).finalizers).toEqual(["a.b/c", "a.b/d", "a.b/e"]);
  });

  test.each([
    ["a test that fails", { op: "test", path: "/data/a", value: "2" }, 422],
    ["a path that is not there", { op: "remove", path: "/data/nowhere" }, 422],
    ["an index past the end", { op: "add", path: "/metadata/finalizers/5", value: "x" }, 422],
    ["an index that is none", { op: "add", path: "/metadata/finalizers/01", value: "x" }, 422],
    ["an unknown operation", { op: "spam", path: "/data" }, 422],
    ["a move into itself", { op: "move", from: "/data", path: "/data/a" }, 422],
    ["no value", { op: "add", path: "/data/x" }, 422],
    ["no path", { op: "add", value: 1 }, 400],
    ["a path through a text", { op: "add", path: "/data/a/b", value: "x" }, 422],
  ])("with %s is refused", async (_what, step, code) => {
    const given = await make("wrong", { a: "1" });
    expect([201, 409]).toContain(given.code);
    expect((await patch("wrong", [step], json)).code).toBe(code);
  });

  test("leaves names of JavaScript's own alone", async () => {
    await make("proto", { a: "1" });
    const answer = await patch("proto", [{ op: "add", path: "/data/__proto__", value: "x" }], json);
    expect(answer.code).toBe(200);
    expect(Object.entries(answer.body.data as object)).toContainEqual(["__proto__", "x"]);
    expect((await patch("proto", [{ op: "add", path: "/__proto__/polluted", value: 1 }], json)).code).toBe(422);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("objects", () => {
  test.each([
    ["merge", merge],
    ["strategic merge", strategic],
    ["apply", apply],
  ])("do not grow without end by %s", async (_what, type) => {
    const name = `grow-${_what.replace(" ", "-")}`;
    await make(name, { a: "1" });
    const part = (key: string): object => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: { [key]: "x".repeat(900_000) },
    });
    expect((await patch(name, part("b"), type)).code).toBe(200);
    const second = api.call("PATCH", `${configMaps}/${name}?fieldManager=u`, part("c"), type);
    expect((await second).code).toBe(413);
    expect((await patch(name, { ...part("b"), ...numbered(20_000, "x") }, type)).code).toBe(413);
  });

  test("with very many values are refused before they are read, those with many are taken", async () => {
    const hosts = (count: number): object => ({
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: `v${count}` },
      spec: { hosts: repeat(count, (i) => `h${i}`) },
    });
    const path = "/apis/networking.istio.io/v1/namespaces/default/virtualservices";
    expect((await api.call("POST", path, hosts(30_000))).code).toBe(201);
    expect((await api.call("POST", path, hosts(70_000))).code).toBe(413);
    expect((await make("fields", numbered(16_000, "x"))).code).toBe(201);
    expect((await make("more-fields", numbered(17_000, "x"))).code).toBe(413);
  });

  test("whose schema has patterns that take long to compile", async () => {
    const definition = (count: number): object => ({
      metadata: { name: "many.bombs.io" },
      spec: {
        group: "bombs.io",
        names: { plural: "many", singular: "many", kind: "Many", listKind: "ManyList" },
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: Object.fromEntries(
                  repeat(count, (i) => [`f${i}`, { type: "string", pattern: `^a${i}[a-z]{1,50}$` }]),
                ),
              },
            },
          },
        ],
      },
    });
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const refused = await api.call("POST", path, definition(1_000));
    expect([refused.code, String(refused.body.message)]).toEqual([
      422,
      expect.stringContaining("too large to compile"),
    ]);
    expect((await api.call("POST", path, definition(100))).code).toBe(201);
  });

  test("whose texts take long to be compared with the pattern of their schema", async () => {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const openAPIV3Schema = { type: "object", properties: { text: { type: "string", pattern: "(.?){900}[bc]$" } } };
    const definition = {
      metadata: { name: "slow.bombs.io" },
      spec: {
        group: "bombs.io",
        names: { plural: "slow", singular: "slow", kind: "Slow", listKind: "SlowList" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
      },
    };
    expect((await api.call("POST", path, definition)).code).toBe(201);
    const slow = (length: number): Promise<Answer> =>
      api.call("POST", "/apis/bombs.io/v1/namespaces/default/slow", {
        apiVersion: "bombs.io/v1",
        kind: "Slow",
        metadata: { name: `slow-${length}` },
        text: `${"a".repeat(length)}b`,
      });
    const refused = await slow(1_000_000);
    expect([refused.code, String(refused.body.message)]).toEqual([413, expect.stringContaining("too long")]);
    expect((await slow(100)).code).toBe(201);
  });

  test("of many values can be sent back as they were read", async () => {
    const large = { metadata: { name: "sent-back", finalizers: repeat(30_000, (i) => `a.b/c${i}`) } };
    expect((await api.call("POST", configMaps, large)).code).toBe(201);
    const { body } = await api.call("GET", `${configMaps}/sent-back`);
    const answer = await api.call("PUT", `${configMaps}/sent-back`, { ...body, data: { a: "1" } });
    expect([answer.code, answer.body.data]).toEqual([200, { a: "1" }]);
  });

  test("with managedFields where nobody is told to look", async () => {
    const text = `metadata: {name: elsewhere}\ndata:\n  managedFields: [${"1,".repeat(70_000)}1]`;
    expect((await api.call("POST", configMaps, text, "application/yaml")).code).toBe(413);
  });

  test("that merge two long lists by their keys", async () => {
    const ports = (from: number): object[] => repeat(4_000, (i) => ({ name: `p${from + i}`, port: from + i }));
    await api.call("POST", services, { metadata: { name: "long" }, spec: { ports: ports(1) } });
    const answer = await api.call("PATCH", `${services}/long`, { spec: { ports: ports(2_001) } }, strategic);
    expect((answer.body.spec as { ports: unknown[] }).ports).toHaveLength(6_000);
  });

  test("with thousands of mistakes are told of some", async () => {
    const wrong = { metadata: { name: "wrong-fields" }, ...numbered(10_000, "x") };
    const answer = await api.call("POST", configMaps, wrong);
    expect(answer.code).toBe(201);
    expect(answer.warnings.split("299 - ").length).toBeLessThan(60);
    expect(answer.warnings).toContain('unknown field \\"k0\\"');
  });

  test("that say much twice, deep down, are told of it in few words", async () => {
    const names = repeat(30, (i) => `"${"n".repeat(10_000)}${i}":{`).join("");
    const text = `{"metadata":{"name":"twice"},${names}${'"a":1,'.repeat(200)}"a":1${"}".repeat(30)}}`;
    const answer = await api.call("POST", `${configMaps}?fieldValidation=Strict`, text, "application/json");
    expect(answer.code).toBe(400);
    expect(String(answer.body.message).length).toBeLessThan(500_000);
  });

  test("with blanks where base64 belongs", async () => {
    const secret = { metadata: { name: "blank" }, data: { a: `${" ".repeat(1_000_000)}!` } };
    expect((await api.call("POST", "/api/v1/namespaces/default/secrets", secret)).code).toBe(400);
  });

  test("selected by a field with many blanks", async () => {
    const selector = encodeURIComponent(`metadata.name=a${" ".repeat(4_000)}b`);
    expect((await api.call("GET", `${configMaps}?fieldSelector=${selector}`)).code).toBe(200);
  });
});

describe("while a large object is written", () => {
  test("others are answered", async () => {
    await make("large", numbered(16_000, "x"));
    let done = false;
    const large = patch("large", { data: numbered(16_000, "y") }, strategic).then((answer) => {
      done = true;
      return answer;
    });
    let answered = 0;
    while (!done) {
      await api.call("GET", "/livez");
      if (!done) answered++;
    }
    expect((await large).code).toBe(200);
    expect(answered).toBeGreaterThan(1);
  });

  test("a long list goes out piece by piece, whole", async () => {
    for (const name of ["one", "two", "three"]) await make(`page-${name}`, numbered(10_000, "x".repeat(50)));
    const plain = await api.call("GET", configMaps);
    const items = plain.body.items as { metadata: { name: string }; data?: object }[];
    expect(items.filter(({ metadata }) => metadata.name.startsWith("page-"))).toHaveLength(3);
    expect(Object.keys(items.find(({ metadata }) => metadata.name === "page-two")?.data ?? {})).toHaveLength(10_000);
  });

  test("a client that leaves in the middle of a long list is no trouble", async () => {
    const sent = request(`${api.server.url}${configMaps}`, { ca: api.server.ca, ...api.admin, agent: false });
    sent.on("error", () => {});
    sent.end();
    const [answer] = await once(sent, "response");
    await once(answer, "data");
    sent.destroy();
    expect((await api.call("GET", "/livez")).code).toBe(200);
  });
});

describe("the watchdog", () => {
  test("names the request that held everybody up, and counts it", async () => {
    clock = () => {
      spendCpu(150);
      return new Date();
    };
    await make("slow", { a: "1" });
    clock = () => new Date();
    expect(lines.filter((line) => line.includes("the event loop was held for")).join("\n")).toMatch(
      /by POST \/api\/v1\/namespaces\/default\/configmaps/,
    );
    expect(await metricsOf(api)).toMatch(/fairlead_api_long_turns_total [1-9]/);
  });
});

async function metricsOf(from: TestApi): Promise<string> {
  const sent = request(`${from.server.url}/metrics`, { ca: from.server.ca, ...from.admin, agent: false });
  sent.end();
  const [answer] = await once(sent, "response");
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return text;
}
