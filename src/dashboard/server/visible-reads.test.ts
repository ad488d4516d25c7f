import { expect, test } from "vitest";
import type { LiveRequest, MeshReads } from "../mesh-reads.ts";
import type { WhyAnswer, WhyQuestion } from "../why-read.ts";
import type { Viewer } from "./viewer.ts";
import { visibleReads } from "./visible-reads.ts";

const party = (namespace: string) => ({ namespace, workload: `web-${namespace}` });

const request = (from: string, to: string, side: LiveRequest["side"]): LiveRequest => ({
  ...{ at: "2026-01-01T00:00:00Z", side, source: party(from), destination: party(to) },
  ...{ service: { host: `web.${to}.svc.cluster.local` }, protocol: "http", method: "GET", authority: `web.${to}` },
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

test("what becomes of a request is told where all that it passes is seen, and no mistake names what is not", async () => {
  const hop = (proxy: string) => ({ proxy }) as WhyAnswer["hops"][number];
  const step = (object: string) => ({ deciders: [{ object }] }) as unknown as WhyAnswer["steps"][number];
  const answers: Readonly<Record<string, unknown>> = {
    own: { hops: [hop("web.alpha")], steps: [step("VirtualService/alpha/web")] },
    server: { hops: [hop("web.alpha"), hop("db.bravo")], steps: [] },
    rule: { hops: [hop("web.alpha")], steps: [step("AuthorizationPolicy/bravo/deny")] },
    mistake: { code: "not-found", error: "there is web.alpha, db.bravo" },
  };
  const reads = {
    namespaces: () => ["alpha", "bravo"],
    why: async ({ source = "" }: WhyQuestion) => answers[source],
  } as unknown as MeshReads;
  const asked = visibleReads(reads, alphaOnly);
  expect(await asked.why({ source: "own" })).toEqual(answers.own);
  for (const source of ["server", "rule", "mistake"])
    expect(await asked.why({ source }), source).toMatchObject({ code: "forbidden" });
});
