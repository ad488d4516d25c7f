import { describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { requestCounts } from "../../model/index.ts";
import { createPulledEdges } from "./pulled-edges.ts";
import { createTelemetry } from "./telemetry.ts";

/** As an istio-proxy shows it; labels that edges are not made of are left out here. */
const labels = (more: Readonly<Record<string, string>>): string =>
  Object.entries({
    ...{ reporter: "source", source_workload: "front", source_principal: "spiffe://cluster.local/ns/shop/sa/front" },
    ...{
      destination_workload: "back-v1",
      destination_workload_namespace: "shop",
      destination_canonical_service: "back",
    },
    ...{ destination_canonical_revision: "v1", destination_principal: "spiffe://cluster.local/ns/shop/sa/back" },
    ...{ destination_service: "back.shop.svc.cluster.local", destination_service_name: "back" },
    ...{ destination_service_namespace: "shop", request_protocol: "http", response_code: "200", response_flags: "-" },
    ...{ connection_security_policy: "unknown", ...more },
  })
    .map(([name, value]) => `${name}="${value}"`)
    .join(",");

const requests = (count: number, more: Readonly<Record<string, string>> = {}): string =>
  `# TYPE istio_requests_total counter\nistio_requests_total{${labels(more)}} ${count}`;
const buckets = (upTo: Readonly<Record<string, number>>): string =>
  [
    ...Object.entries(upTo).map(
      ([le, count]) => `istio_request_duration_milliseconds_bucket{${labels({ le })}} ${count}`,
    ),
    `istio_request_duration_milliseconds_sum{${labels({})}} 77`,
    `istio_request_duration_milliseconds_count{${labels({})}} 9`,
  ].join("\n");

function envoy(...texts: readonly string[]) {
  const queries: string[] = [];
  const left = [...texts];
  const edges = createPulledEdges({
    log: silentLogger,
    async read(query) {
      queries.push(decodeURIComponent(query));
      const text = left.shift();
      if (text === undefined) throw new Error("gone");
      return text;
    },
  });
  return { queries, take: async () => edges.take() };
}

describe("the metrics of an istio-proxy", () => {
  test("are told as what is new since the last look, and nothing of what was before", async () => {
    const { take, queries } = envoy(
      [requests(5), buckets({ "0.5": 0, "1": 5, "5": 5, "+Inf": 5 })].join("\n"),
      [
        requests(9),
        requests(2, { response_code: "503", response_flags: "UH" }),
        buckets({ "0.5": 0, "1": 6, "5": 9, "+Inf": 9 }),
        "envoy_server_state{} 0",
        "istio_requests_total{broken",
      ].join("\n"),
    );
    expect(await take()).toEqual([]);
    const [edge, ...others] = await take();
    expect(others).toEqual([]);
    expect(edge).toMatchObject({
      ...{ side: "source", protocol: "http", flags: new Map([["UH", 2]]) },
      peer: { namespace: "shop", workload: "back-v1", app: "back", version: "v1" },
      service: { host: "back.shop.svc.cluster.local", name: "back", namespace: "shop" },
    });
    const named = Object.fromEntries(requestCounts.map((name, i) => [name, edge?.counts[i]]));
    expect(named).toMatchObject({ requests: 6, serverErrors: 2, flagged: 2, mutual: 6 });
    expect(edge?.counts.slice(requestCounts.length, requestCounts.length + 3)).toEqual([1, 3, 0]);
    expect(queries[0]).toMatch(/usedonly&filter=istio_\(requests_total\|.*duration_milliseconds\)/);
  });

  test("of one that was started again count from zero", async () => {
    const { take } = envoy(requests(100), requests(3));
    await take();
    expect((await take())[0]?.counts[0]).toBe(3);
  });

  test("on connections have their bytes", async () => {
    const tcp = (family: string, count: number): string =>
      `istio_tcp_${family}_total{${labels({ request_protocol: "tcp" })}} ${count}`;
    const all = (by: number): string =>
      [
        tcp("connections_opened", by),
        tcp("connections_closed", by),
        tcp("sent_bytes", 10 * by),
        tcp("received_bytes", 7),
      ].join("\n");
    const { take } = envoy(all(1), all(3));
    await take();
    expect((await take())[0]).toMatchObject({ protocol: "tcp", counts: [2, 2, 2, 0, 20, 0] });
  });

  test("that cannot be read are read later, with nothing lost", async () => {
    const { take } = envoy(requests(1), "", requests(4));
    await take();
    expect(await take()).toEqual([]);
    expect((await take())[0]?.counts[0]).toBe(3);
    // Nobody answers.
    expect(await take()).toEqual([]);
  });

  test("that are very many are asked for without durations", async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => requests(1, { destination_workload: `w${i}` })).join("\n");
    const { take, queries } = envoy(many, requests(1));
    await take();
    await take();
    expect(queries[1]).not.toContain("duration");
  });
});

test("an Envoy is asked where it says that it counts for itself, and no other one", async () => {
  let counted = 0;
  let asked = 0;
  const { sees, edges } = createTelemetry({
    node: { id: "a", metadata: {}, labels: {}, annotations: {}, locality: { region: "", zone: "", subZone: "" } },
    log: silentLogger,
    async envoyMetrics() {
      asked++;
      counted += 5;
      return requests(counted);
    },
  });
  const takes = async () => (await edges.take()).map(({ counts }) => counts[0]);
  sees([Buffer.from("envoy.filters.http.router")]);
  expect([await takes(), asked]).toEqual([[], 0]);
  sees([Buffer.from("\n\u000bistio.stats\u0012 envoy.filters.http.router")]);
  expect([await takes(), await takes(), asked]).toEqual([[], [5], 2]);
});
