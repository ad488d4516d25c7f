import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { Edge_Protocol, Edge_Side, type FilterSchema, TapSchema } from "../../gen/fairlead/traffic_pb.js";
import type { MetricPlan } from "../../model/index.ts";
import { createRequestCounter } from "./request-counter.ts";
import { createTaps } from "./tap.ts";
import { type Columns, exportRequest, line } from "./testing.ts";
import { createWorkloadTable } from "./workload-table.ts";

const own = {
  ...{ name: "server", namespace: "prod", cluster: "Kubernetes", app: "server", version: "v2" },
  ...{ canonicalService: "server", canonicalRevision: "v2" },
};
const inbound: MetricPlan = { reporter: "destination", protocol: "http", changes: {} };
const called: Columns = {
  peerAddress: "10.0.0.9",
  peerPrincipal: "spiffe://cluster.local/ns/default/sa/client",
  localPrincipal: "spiffe://cluster.local/ns/prod/sa/server",
  services: '[{"namespace":"prod","host":"server.prod.svc.cluster.local","name":"server"}]',
  responseCode: "200",
};
const notes = {
  ...{ method: "GET", authority: "server:80", path: "/api/x?token=secret#y" },
  ...{ "user-agent": "curl", "x-request-id": "r-1" },
};

function start() {
  let nowMs = 1000;
  const monotonicMs = (): number => nowMs;
  const table = createWorkloadTable({ monotonicMs });
  const taps = createTaps({ own, table, monotonicMs, now: () => new Date(nowMs) });
  const counter = createRequestCounter({ own, table, taps, monotonicMs });
  return {
    taps,
    log: (columns: Columns = {}, more: object = {}) =>
      counter.take(exportRequest(inbound, [line({ ...called, ...columns }, [3, 10, 20, "-"])], { ...notes, ...more })),
    order: (filter: MessageInitShape<typeof FilterSchema> = {}, more: object = {}) =>
      taps.order(create(TapSchema, { id: 1, forMs: 60_000, perSecond: 50, filter, ...more })),
    pass(ms: number) {
      nowMs += ms;
    },
    seen: () => taps.drain().flatMap(({ requests }) => requests),
  };
}

describe("taps", () => {
  test("show requests from the order on, without queries, and with the headers that were asked for", () => {
    const { log, order, seen } = start();
    log();
    order({}, { headers: ["user-agent", "authorization"] });
    log({ responseCode: "503", responseFlags: "UF" }, { authorization: "Bearer secret" });
    const [request, ...others] = seen();
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      ...{
        side: Edge_Side.DESTINATION,
        protocol: Edge_Protocol.HTTP,
        method: "GET",
        authority: "server:80",
        path: "/api/x",
      },
      ...{
        status: 503,
        flags: "UF",
        durationMs: 3,
        receivedBytes: 10,
        sentBytes: 20,
        mutual: true,
        peerAddress: "10.0.0.9",
      },
      peer: { namespace: "default" },
      service: { name: "server", namespace: "prod" },
      headers: { "user-agent": "curl" },
    });
    expect(JSON.stringify(request)).not.toContain("secret");
  });

  test.each([
    [{ method: "GET" }, { method: "PUT" }],
    [{ authority: "server:80" }, { authority: "other" }],
    [{ pathPrefix: "/api" }, { pathPrefix: "/apix" }],
    [{ minStatus: 200, maxStatus: 299 }, { minStatus: 500 }],
    [{ side: Edge_Side.DESTINATION }, { side: Edge_Side.SOURCE }],
    [{ peer: { namespace: "default" } }, { peer: { namespace: "default", workload: "other" } }],
    [{ service: { name: "server" } }, { service: { name: "server", namespace: "shop" } }],
  ])("%j matches, %j does not", (matching, other) => {
    for (const [filter, count] of [
      [matching, 1],
      [other, 0],
    ] as const) {
      const { log, order, seen } = start();
      order(filter);
      log();
      expect(seen()).toHaveLength(count);
    }
  });

  test("show so many a second and count the others, and end by themselves, or when they are told to", () => {
    const { log, order, pass, taps } = start();
    order({}, { perSecond: 1000 });
    for (let i = 0; i < 70; i++) log();
    expect(taps.drain()).toMatchObject([{ leftOut: 20, requests: { length: 50 } }]);
    pass(1000);
    log();
    expect(taps.drain()).toMatchObject([{ leftOut: 0, requests: { length: 1 } }]);
    pass(120_000);
    taps.drain();
    expect(taps.isActive).toBe(false);
    order();
    order({}, { forMs: 0 });
    expect(taps.isActive).toBe(false);
    for (let id = 1; id <= 9; id++) order({}, { id });
    log();
    expect(taps.drain()).toHaveLength(4);
    taps.clear();
    expect(taps.isActive).toBe(false);
  });
});
