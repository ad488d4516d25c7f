import { describe, expect, test } from "vitest";
import { latencyBoundsMs, type MetricPlan, requestCounts } from "../../model/index.ts";
import type { EdgeDelta, EdgeSource } from "./edge-counts.ts";
import { createRequestCounter } from "./request-counter.ts";
import { type Columns, exportRequest, line } from "./testing.ts";
import { createWorkloadTable } from "./workload-table.ts";

const own = {
  ...{ name: "server", namespace: "prod", cluster: "Kubernetes", app: "server", version: "v2" },
  ...{ canonicalService: "server", canonicalRevision: "v2" },
};
const inbound: MetricPlan = { reporter: "destination", protocol: "http", changes: {} };
const called: Columns = {
  peerPrincipal: "spiffe://cluster.local/ns/default/sa/client",
  localPrincipal: "spiffe://cluster.local/ns/prod/sa/server",
  services: '[{"namespace":"prod","host":"server.prod.svc.cluster.local","name":"server"}]',
  responseCode: "200",
};

function start() {
  let nowMs = 1000;
  const monotonicMs = (): number => nowMs;
  const counter = createRequestCounter({ own, table: createWorkloadTable({ monotonicMs }), monotonicMs });
  return {
    edges: counter.edges,
    log(columns: Columns, tookMs = 3, plan = inbound) {
      nowMs++;
      counter.take(exportRequest(plan, [line({ ...called, ...columns }, [tookMs, 10, 20, "-"])]));
    },
    connection(type: string, sent: number) {
      nowMs++;
      const tcp: MetricPlan = { reporter: "source", protocol: "tcp", changes: {} };
      counter.take(exportRequest(tcp, [line(called, [type, "c1", 7, sent])]));
    },
  };
}

const take = async (edges: EdgeSource): Promise<readonly EdgeDelta[]> => edges.take();
const named = ({ counts }: EdgeDelta) => Object.fromEntries(requestCounts.map((name, i) => [name, counts[i]]));

describe("edges", () => {
  test("have what is new of all their label sets, once", async () => {
    const { edges, log } = start();
    log({});
    log({ responseCode: "404" });
    log({ responseCode: "503", responseFlags: "UH,URX" });
    const [edge, ...others] = await take(edges);
    expect(others).toEqual([]);
    expect(edge).toMatchObject({
      ...{ side: "destination", protocol: "http" },
      peer: { namespace: "default", workload: "" },
      service: { host: "server.prod.svc.cluster.local", name: "server", namespace: "prod" },
      flags: new Map([
        ["UH", 1],
        ["URX", 1],
      ]),
    });
    expect(edge && named(edge)).toEqual({
      ...{ requests: 3, clientErrors: 1, serverErrors: 1, denied: 0, unanswered: 0, flagged: 1, mutual: 3, plain: 0 },
    });
    expect(await take(edges)).toEqual([]);
    log({});
    const [next] = await take(edges);
    expect(next?.counts[0]).toBe(1);
  });

  test.each([
    [{ responseCode: "401" }, { clientErrors: 1, denied: 1 }],
    [{ responseCode: "403" }, { clientErrors: 1, denied: 1 }],
    [{ responseCode: "500" }, { serverErrors: 1 }],
    [
      { responseCode: "0", responseFlags: "DC" },
      { unanswered: 1, flagged: 1 },
    ],
    [{ grpcStatus: "0" }, {}],
    [{ grpcStatus: "5" }, { clientErrors: 1 }],
    [{ grpcStatus: "7" }, { clientErrors: 1, denied: 1 }],
    [{ grpcStatus: "14" }, { serverErrors: 1 }],
    [
      { peerPrincipal: "-", localPrincipal: "-" },
      { mutual: 0, plain: 1 },
    ],
  ] as const)("%j is counted as %j", async (columns, expected) => {
    const { edges, log } = start();
    log(columns);
    const [edge] = await take(edges);
    const none = Object.fromEntries(requestCounts.map((name) => [name, 0]));
    expect(edge && named(edge)).toEqual({ ...none, requests: 1, mutual: 1, ...expected });
    expect(edge?.protocol).toBe("grpcStatus" in columns ? "grpc" : "http");
  });

  test("a caller's proxy that was shown no certificate does not know", async () => {
    const { edges, log } = start();
    log({ peerPrincipal: "-", localPrincipal: "-" }, 3, { ...inbound, reporter: "source" });
    const [edge] = await take(edges);
    expect(edge && named(edge)).toMatchObject({ requests: 1, mutual: 0, plain: 0 });
  });

  test("durations are in the bucket that has them", async () => {
    for (const [tookMs, bound] of [
      [0, 1],
      [1, 1],
      [2, 5],
      [30_000, 60_000],
      [60_001, undefined],
      [4_000_000, undefined],
    ] as const) {
      const { edges, log } = start();
      log({}, tookMs);
      const [edge] = await take(edges);
      const place = edge?.counts.slice(requestCounts.length).indexOf(1) ?? -1;
      expect([place, latencyBoundsMs[place]]).toEqual([bound === undefined ? latencyBoundsMs.length : place, bound]);
    }
  });

  test("connections have their bytes as they grow", async () => {
    const { edges, connection } = start();
    connection("TcpUpstreamConnected", 0);
    connection("TcpPeriodic", 100);
    expect((await take(edges))[0]).toMatchObject({ protocol: "tcp", counts: [1, 0, 1, 0, 100, 7] });
    connection("TcpConnectionEnd", 150);
    expect((await take(edges))[0]?.counts).toEqual([0, 1, 0, 0, 50, 0]);
  });
});
