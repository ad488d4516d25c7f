import { expect, test } from "vitest";
import type { Change, LiveRequest, MeshReads, Mistake, WhyAnswer, WhyQuestion } from "../../../read-api/index.ts";
import type { Viewer } from "../viewer.ts";
import { visibleReads } from "./visible-reads.ts";

const party = (namespace: string) => ({ namespace, workload: `web-${namespace}`, app: "web", version: "" });

const request = (from: string, to: string, side: LiveRequest["side"]): LiveRequest => ({
  ...{ at: "2026-01-01T00:00:00Z", side, source: party(from), destination: party(to) },
  ...{
    service: { host: `web.${to}.svc.cluster.local`, name: "web", namespace: to },
    protocol: "http",
    method: "GET",
    authority: `web.${to}`,
  },
  ...{ path: "/", status: 200, grpcStatus: "", flags: "", durationMs: 1, receivedBytes: 1, sentBytes: 1 },
  ...{ mutualTls: true, peerAddress: `10.0.0.1 of ${side === "source" ? to : from}`, headers: {} },
});

const alphaOnly: Viewer = { key: "a", sees: async () => (namespace) => namespace === "alpha" };

test("of live requests both ends are told where both are seen, one where one is, and none where none is", async () => {
  const requests = [
    request("alpha", "alpha", "source"),
    request("alpha", "bravo", "source"),
    request("bravo", "alpha", "destination"),
    request("bravo", "bravo", "source"),
  ];
  const reads = {
    namespaces: () => ["alpha", "bravo"],
    liveRequests: async () => ({ session: "s", requests, leftOut: 0, proxies: 2, done: false }),
  } as unknown as MeshReads;
  const seen = visibleReads(reads, alphaOnly);
  for (const question of ["", "namespace=bravo"])
    await expect(seen.liveRequests(new URLSearchParams(question))).rejects.toThrow(/namespaces alone/);
  const { requests: told } = await seen.liveRequests(new URLSearchParams("namespace=alpha"));
  expect(told[0]).toEqual(requests[0]);
  const ends = told.map(({ source, destination }) => [source.namespace, destination.namespace]);
  expect(ends).toEqual([
    ["alpha", "alpha"],
    ["alpha", ""],
    ["", "alpha"],
  ]);
  expect(JSON.stringify(told)).not.toContain("bravo");
});

test("what becomes of a request is told where all that it passes is seen", async () => {
  const hop = (proxy: string) => ({ proxy }) as WhyAnswer["hops"][number];
  const step = (object: string) => ({ deciders: [{ object }] }) as unknown as WhyAnswer["steps"][number];
  const answers: Readonly<Record<string, unknown>> = {
    own: { hops: [hop("web.alpha")], steps: [step("VirtualService/alpha/web")] },
    server: { hops: [hop("web.alpha"), hop("db.bravo")], steps: [] },
    rule: { hops: [hop("web.alpha")], steps: [step("AuthorizationPolicy/bravo/deny")] },
  };
  const reads = {
    namespaces: () => ["alpha", "bravo"],
    why: async ({ source = "" }: WhyQuestion) => answers[source],
  } as unknown as MeshReads;
  const asked = visibleReads(reads, alphaOnly);
  expect(await asked.why({ source: "own" })).toEqual(answers.own);
  for (const source of ["server", "rule"])
    expect(await asked.why({ source }), source).toMatchObject({ code: "forbidden" });
});

test("mistakes tell nothing of what is hidden: all are one, but those of the question itself", async () => {
  const mistakes: Readonly<Record<string, Mistake>> = {
    unknown: { code: "not-found", error: "no proxy is called web in namespace zulu" },
    hidden: { code: "not-found", error: "there is web.alpha, db.bravo" },
    ports: { code: "usage", error: "api.example.com has 2 ports", remedy: "name one: 80 (plain), 9000 (own)" },
    address: { code: "not-found", error: "behind 10.0.0.1:80 there is no Pod with a proxy" },
    question: { code: "usage", error: "name who calls and whom", isOfQuestion: true },
  };
  const reads = {
    namespaces: () => ["alpha", "bravo"],
    objects: async () => [{ id: "ServiceEntry/bravo/api" }],
    services: () => [],
    why: async ({ source = "" }: WhyQuestion) => mistakes[source] ?? { hops: [{ proxy: "db.bravo" }], steps: [] },
  } as unknown as MeshReads;
  const limited = visibleReads(reads, alphaOnly);
  const refused = await limited.why({ source: "an answer" });
  expect(refused).toMatchObject({ code: "forbidden" });
  for (const source of ["unknown", "hidden", "ports", "address"])
    expect(await limited.why({ source }), source).toEqual(refused);
  expect(await limited.why({ source: "question" })).toEqual(mistakes.question);
  const whole = visibleReads(reads, { key: "w", sees: async () => () => true });
  for (const [source, mistake] of Object.entries(mistakes)) expect(await whole.why({ source })).toEqual(mistake);
});

test("of changes that touch what is hidden no difference is worked out before it is shown", async () => {
  let worked = 0;
  const changes: readonly Change[] = Array.from({ length: 3 }, (_, id) => ({
    ...{ id, object: "VirtualService/alpha/web", namespace: "alpha", act: "changed", at: "2026-01-01T00:00:00Z" },
    touched: [
      { type: "RDS", name: "outbound|80||web.bravo", act: "changed", proxies: 1 },
      { type: "RDS", name: "outbound|80||web.alpha", act: "changed", proxies: 1 },
    ],
    get diff() {
      worked++;
      return ["+a"];
    },
  }));
  const reads = { namespaces: () => ["alpha", "bravo"], changes: () => changes } as unknown as MeshReads;
  const [first, ...others] = await visibleReads(reads, alphaOnly).changes();
  expect([others.length, worked]).toEqual([2, 0]);
  expect(JSON.parse(JSON.stringify(first))).toEqual({ ...changes[0], touched: changes[0]?.touched?.slice(1) });
});

test("of a namespace that is seen, what is counted is of the kinds that are seen", async () => {
  const objects = [
    { id: "VirtualService/alpha/web", namespace: "alpha", problems: 1 },
    { id: "AuthorizationPolicy/alpha/deny", namespace: "alpha", problems: 2 },
  ];
  const row = { name: "alpha", services: 1, proxies: 1, objects: 2, problems: 3, mutualTls: "STRICT" };
  const lists = { serviceList: [{ object: "Service/alpha/web" }], objectList: objects, proxyList: [], policies: [] };
  const reads = {
    namespaces: () => ["alpha", "bravo"],
    namespaceRows: async () => [row],
    namespace: async () => ({ ...row, ...lists }),
    objects: async () => objects,
    services: () => [{ object: "Service/alpha/web", namespace: "alpha" }],
    proxies: async () => [{ id: "web.alpha", namespace: "alpha" }],
  } as unknown as MeshReads;
  const kinds = new Set(["Pod", "VirtualService"]);
  const viewer: Viewer = { key: "v", sees: async (kind) => () => kinds.has(kind) };
  const counted = { services: 0, proxies: 1, objects: 1, problems: 1 };
  const seen = visibleReads(reads, viewer);
  expect(await seen.namespaceRows()).toEqual([{ ...row, ...counted }]);
  expect(await seen.namespace("alpha", { lastMs: 1 })).toMatchObject({ ...counted, serviceList: [] });
});
