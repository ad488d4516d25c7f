import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  ResourceSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { WorkloadSchema } from "../../gen/fairlead/workload_pb.js";
import { type MetricPlan, types } from "../../model/index.ts";
import { createRequestCounter, type RequestCounter } from "./request-counter.ts";
import { type Columns, exportRequest, line } from "./testing.ts";
import { createWorkloadTable, type WorkloadTable } from "./workload-table.ts";

const own = {
  name: "server",
  namespace: "prod",
  cluster: "Kubernetes",
  canonicalService: "server",
  canonicalRevision: "v2",
  app: "server",
  version: "v2",
};
const client = {
  name: "client",
  namespace: "default",
  identity: "spiffe://cluster.local/ns/default/sa/client",
  cluster: "Kubernetes",
  canonicalService: "client",
  canonicalRevision: "v1",
  app: "shop",
  version: "v1",
};
const inbound: MetricPlan = { reporter: "destination", protocol: "http", changes: {} };
const outbound: MetricPlan = { reporter: "source", protocol: "http", changes: {} };
const tcp: MetricPlan = { reporter: "source", protocol: "tcp", changes: {} };
const fromClient: Columns = {
  peerAddress: "10.0.0.7",
  peerPrincipal: client.identity,
  localPrincipal: "spiffe://cluster.local/ns/prod/sa/server",
  cluster: "inbound|8080||",
  services: '[{"namespace":"prod","host":"server.prod.svc.cluster.local","name":"server"}]',
  responseCode: "200",
};

let nowMs: number;
let table: WorkloadTable;
let counter: RequestCounter;
let asked: DeltaDiscoveryRequest[];

function start(limits: { maxSeries?: number; idleMs?: number } = {}): void {
  nowMs = 1_000_000;
  const requests: DeltaDiscoveryRequest[] = [];
  asked = requests;
  table = createWorkloadTable({ monotonicMs: () => nowMs });
  table.subscription.attach((bytes) => requests.push(fromBinary(DeltaDiscoveryRequestSchema, bytes)));
  counter = createRequestCounter({ own, table, monotonicMs: () => nowMs, ...limits });
}
beforeEach(() => start());

const take = (plan: MetricPlan | string, ...lines: readonly string[]): void => counter.take(exportRequest(plan, lines));
const request = (columns: Columns, values: readonly (string | number)[] = [3, 100, 200, "-"]): string =>
  line({ ...fromClient, ...columns }, values);

/** The control plane's word on an address. */
function tell(address: string, workload: Partial<typeof client> | undefined): void {
  const value = toBinary(WorkloadSchema, create(WorkloadSchema, workload ?? {}));
  const resource = create(AnySchema, { typeUrl: types.workload, value });
  const resources = workload ? [create(ResourceSchema, { name: address, version: "1", resource })] : [];
  const removedResources = workload ? [] : [address];
  const response = create(DeltaDiscoveryResponseSchema, {
    typeUrl: types.workload,
    nonce: "n",
    resources,
    removedResources,
  });
  table.subscription.receive(toBinary(DeltaDiscoveryResponseSchema, response));
}

/** Asks for the address, as a first line does, and has it answered. */
function know(address: string, workload: Partial<typeof client>): void {
  table.lookup(address);
  tell(address, workload);
}

const text = (): string => [...counter.metrics()].join("");

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
function samples(name: string): readonly Sample[] {
  return text()
    .split("\n")
    .filter((one) => one.startsWith(`${name}{`) || one.startsWith(`${name} `))
    .map((one) => {
      const pairs = [...one.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [key, value]);
      return { labels: Object.fromEntries(pairs), value: Number(one.slice(one.lastIndexOf(" "))) };
    });
}

describe("requests", () => {
  test("one that came from a known peer has all labels, in Istio's names", () => {
    know("10.0.0.7", client);
    take(inbound, request({}), request({}));
    expect(samples("istio_requests_total")).toEqual([
      {
        value: 2,
        labels: {
          reporter: "destination",
          source_workload: "client",
          source_canonical_service: "client",
          source_canonical_revision: "v1",
          source_workload_namespace: "default",
          source_principal: client.identity,
          source_app: "shop",
          source_version: "v1",
          source_cluster: "Kubernetes",
          destination_workload: "server",
          destination_canonical_service: "server",
          destination_canonical_revision: "v2",
          destination_workload_namespace: "prod",
          destination_principal: "spiffe://cluster.local/ns/prod/sa/server",
          destination_app: "server",
          destination_version: "v2",
          destination_cluster: "Kubernetes",
          destination_service: "server.prod.svc.cluster.local",
          destination_service_name: "server",
          destination_service_namespace: "prod",
          request_protocol: "http",
          response_code: "200",
          grpc_response_status: "",
          response_flags: "-",
          connection_security_policy: "mutual_tls",
        },
      },
    ]);
  });

  test("times and sizes fall into Envoy's buckets, which add up", () => {
    know("10.0.0.7", client);
    take(inbound, request({}, [0, 10, 5, "-"]), request({}, [7, 20, 5, "-"]), request({}, [4_000_000, 1, 5, "-"]));
    const buckets = samples("istio_request_duration_milliseconds_bucket").map(({ labels, value }) => [
      labels.le,
      value,
    ]);
    expect(buckets.slice(0, 5)).toEqual([
      ["0.5", 1],
      ["1", 1],
      ["5", 1],
      ["10", 2],
      ["25", 2],
    ]);
    expect(buckets.slice(-2)).toEqual([
      ["3600000", 2],
      ["+Inf", 3],
    ]);
    expect(samples("istio_request_duration_milliseconds_sum")[0]?.value).toBe(4_000_007);
    expect(samples("istio_request_bytes_sum")[0]?.value).toBe(31);
    expect(samples("istio_response_bytes_count")[0]?.value).toBe(3);
  });

  test("gRPC has its status and its messages; other requests have none", () => {
    know("10.0.0.7", client);
    take(inbound, request({ grpcStatus: "14" }, [1, 2, 3, "5,7"]), request({}));
    expect(
      samples("istio_requests_total").map(({ labels }) => [labels.request_protocol, labels.grpc_response_status]),
    ).toEqual([
      ["grpc", "14"],
      ["http", ""],
    ]);
    expect(samples("istio_request_messages_total").map(({ value }) => value)).toEqual([5]);
    const [answers] = samples("istio_response_messages_total");
    expect(answers).toMatchObject({ value: 7, labels: { source_workload: "client" } });
    expect(answers?.labels).not.toHaveProperty("response_code");
  });

  test("on the way out the endpoint's own metadata stands in for the table", () => {
    const columns = {
      peerPrincipal: "spiffe://cluster.local/ns/books/sa/reviews",
      peerWorkload: "reviews-v1;books;reviews;v3;east",
      services: '[{"host":"reviews.books.svc.cluster.local","name":"reviews","namespace":"books"}]',
    };
    take(outbound, request({ peerAddress: "-", ...columns }));
    expect(samples("istio_requests_total")[0]?.labels).toMatchObject({
      source_workload: "server",
      destination_workload: "reviews-v1",
      destination_canonical_revision: "v3",
      destination_cluster: "east",
      destination_app: "unknown",
      destination_service: "reviews.books.svc.cluster.local",
      destination_service_namespace: "books",
      connection_security_policy: "unknown",
    });
  });

  test("traffic for no service goes by its cluster or route", () => {
    const plain = { peerAddress: "-", peerPrincipal: "-", services: "-" };
    const fixed = [
      { cluster: "PassthroughCluster" },
      { cluster: "-", route: "block_all" },
      { cluster: "-", route: "x" },
    ];
    take(outbound, ...fixed.map((columns) => request({ ...plain, ...columns })));
    const names = samples("istio_requests_total").map(({ labels }) => labels.destination_service_name);
    expect(names).toEqual(["PassthroughCluster", "BlackHoleCluster", "unknown"]);
    take(inbound, request({ ...plain, cluster: "-", responseFlags: "UAEX", responseCode: "403" }));
    expect(samples("istio_requests_total").at(-1)?.labels).toMatchObject({
      destination_service: "server",
      response_flags: "UAEX",
      source_workload: "unknown",
      source_canonical_revision: "latest",
    });
  });
});

describe("who the peer is", () => {
  test("nothing is shown until it is known, and then what was counted meanwhile too", async () => {
    take(inbound, request({}), request({ responseCode: "500" }));
    expect(samples("istio_requests_total")).toEqual([]);
    await new Promise(setImmediate);
    expect(asked.map((one) => one.resourceNamesSubscribe)).toEqual([["10.0.0.7"]]);
    take(inbound, request({}));
    tell("10.0.0.7", client);
    take(inbound, request({}));
    const counted = samples("istio_requests_total").map(({ labels, value }) => [
      labels.source_workload,
      labels.response_code,
      value,
    ]);
    expect(counted).toEqual([
      ["client", "200", 3],
      ["client", "500", 1],
    ]);
  });

  test("an address that nobody has is unknown after a while, but for what its certificate says", () => {
    take(inbound, request({}));
    tell("10.0.0.7", undefined);
    expect(samples("istio_requests_total")).toEqual([]);
    nowMs += table.graceMs;
    const [sample] = samples("istio_requests_total");
    expect(sample?.value).toBe(1);
    expect(sample?.labels).toMatchObject({
      source_workload: "unknown",
      source_workload_namespace: "default",
      source_principal: client.identity,
    });
  });

  test("an address whose workload is somebody else than the certificate says is not believed", () => {
    know("10.0.0.7", { ...client, name: "gateway", identity: "spiffe://cluster.local/ns/istio-system/sa/gateway" });
    take(inbound, request({}));
    expect(samples("istio_requests_total")[0]?.labels).toMatchObject({
      source_workload: "unknown",
      source_app: "unknown",
      source_workload_namespace: "default",
    });
  });

  test("without a certificate the address alone tells, and the connection is not secure", () => {
    know("10.0.0.7", client);
    take(inbound, request({ peerPrincipal: "-", localPrincipal: "-" }));
    expect(samples("istio_requests_total")[0]?.labels).toMatchObject({
      source_workload: "client",
      source_principal: "unknown",
      connection_security_policy: "none",
    });
  });

  test("an address that goes to another workload counts for that one from then on", () => {
    know("10.0.0.7", client);
    take(inbound, request({ peerPrincipal: "-" }));
    tell("10.0.0.7", { ...client, name: "other" });
    take(inbound, request({ peerPrincipal: "-" }), request({ peerPrincipal: "-" }));
    const counted = samples("istio_requests_total").map(({ labels, value }) => [labels.source_workload, value]);
    expect(counted).toEqual([
      ["client", 1],
      ["other", 2],
    ]);
  });
});

describe("connections", () => {
  const report = (type: string, received: number, sent: number, id = "c1"): string =>
    line({ peerAddress: "-", cluster: "PassthroughCluster" }, [type, id, received, sent]);
  const counts = (): readonly (number | undefined)[] =>
    ["connections_opened", "connections_closed", "received_bytes", "sent_bytes"].map(
      (name) => samples(`istio_tcp_${name}_total`)[0]?.value,
    );

  test("bytes are counted as they come, not twice", () => {
    take(tcp, report("TcpUpstreamConnected", 0, 0));
    expect(counts()).toEqual([1, 0, 0, 0]);
    take(tcp, report("TcpPeriodic", 10, 100), report("TcpPeriodic", 15, 100));
    expect(counts()).toEqual([1, 0, 15, 100]);
    take(tcp, report("TcpConnectionEnd", 20, 130));
    expect(counts()).toEqual([1, 1, 20, 130]);
    expect(samples("istio_tcp_sent_bytes_total")[0]?.labels).toMatchObject({
      request_protocol: "tcp",
      destination_service_name: "PassthroughCluster",
    });
  });

  test("one that never got through is opened and closed at once; one met midway counts from there", () => {
    take(tcp, report("TcpConnectionEnd", 5, 0));
    expect(counts()).toEqual([1, 1, 5, 0]);
    take(tcp, report("TcpPeriodic", 1000, 1000, "c2"), report("TcpPeriodic", 1001, 1002, "c2"));
    expect(counts()).toEqual([2, 1, 6, 2]);
  });

  test("one whose end is never told is closed after long silence", () => {
    take(tcp, report("TcpUpstreamConnected", 0, 0));
    nowMs += 20 * 60_000;
    expect(counts()).toEqual([1, 0, 0, 0]);
    nowMs += 20 * 60_000;
    expect(counts()).toEqual([1, 1, 0, 0]);
  });

  test("the server's side waits for the certificate before it names the client", () => {
    const plan: MetricPlan = { ...tcp, reporter: "destination" };
    know("10.0.0.7", client);
    const at = (type: string, columns: Columns): string => line({ ...fromClient, ...columns }, [type, "c3", 4, 4]);
    take(plan, at("TcpUpstreamConnected", { peerPrincipal: "-" }));
    expect(samples("istio_tcp_connections_opened_total")).toEqual([]);
    take(plan, at("TcpConnectionEnd", {}));
    expect(samples("istio_tcp_connections_opened_total")).toMatchObject([
      { value: 1, labels: { source_principal: client.identity, connection_security_policy: "mutual_tls" } },
    ]);
    expect(samples("istio_tcp_sent_bytes_total")[0]?.value).toBe(4);
  });
});

describe("what the Telemetry API changes", () => {
  beforeEach(() => know("10.0.0.7", client));

  test("a metric that is dropped is not shown; tags are removed and set for their metric alone", () => {
    const plan: MetricPlan = {
      ...inbound,
      changes: {
        request_bytes: { drop: true },
        requests_total: {
          remove: ["response_code", "source_app"],
          set: { method: 0, "odd-name": 1, odd_name: 1, le: 0 },
        },
      },
    };
    const put = (code: string): string => line({ ...fromClient, responseCode: code }, [1, 1, 1, "-"], ["PUT", "-"]);
    take(plan, put("200"), put("404"));
    const [sample, ...others] = samples("istio_requests_total");
    expect(others).toEqual([]);
    expect(sample).toMatchObject({ value: 2, labels: { method: "PUT", odd_name: "unknown", le_: "PUT" } });
    expect(sample?.labels).not.toHaveProperty("source_app");
    expect(samples("istio_request_bytes_count")).toEqual([]);
    expect(samples("istio_response_bytes_count").map(({ labels }) => labels.response_code)).toEqual(["200", "404"]);
  });

  test("a plan that is none counts nothing", () => {
    for (const plan of ["", "{", '{"reporter":"x","protocol":"http"}']) take(plan, request({}));
    expect(samples("istio_requests_total")).toEqual([]);
    expect(samples("fairlead_agent_metrics_malformed_total")[0]?.value).toBe(3);
  });
});

describe("bounds", () => {
  test("beyond the cap requests are counted without labels, so that sums stay right", () => {
    start({ maxSeries: 3 });
    know("10.0.0.7", client);
    take(inbound, ...Array.from({ length: 10 }, (_, i) => request({ responseCode: String(200 + i) })));
    const counted = samples("istio_requests_total");
    expect(counted).toHaveLength(4);
    expect(counted.reduce((sum, { value }) => sum + value, 0)).toBe(10);
    expect(counted.at(-1)).toMatchObject({
      value: 7,
      labels: { reporter: "destination", source_workload: "unknown", response_code: "unknown" },
    });
    expect(samples("fairlead_agent_metrics_overflow_total")[0]?.value).toBe(7);
  });

  test("label sets and addresses that are no longer used go", async () => {
    start({ idleMs: 60_000 });
    know("10.0.0.7", client);
    await new Promise(setImmediate);
    take(inbound, request({}));
    expect(samples("istio_requests_total")).toHaveLength(1);
    nowMs += 11 * 60_000;
    take(inbound, request({ responseCode: "204" }));
    expect(samples("istio_requests_total").map(({ labels }) => labels.response_code)).toEqual(["204"]);
    for (let round = 0; round < 3; round++) {
      nowMs += 11 * 60_000;
      [...counter.metrics()].join("");
    }
    expect(samples("istio_requests_total")).toEqual([]);
    expect(asked.at(-1)?.resourceNamesUnsubscribe).toEqual(["10.0.0.7"]);
  });

  test("a separator in what somebody sent moves no column: nothing of such a line is believed, and it is counted", () => {
    know("10.0.0.7", client);
    const plan: MetricPlan = { ...inbound, changes: { requests_total: { set: { agent: 0 } } } };
    const forged = [client.identity, "-", "-", "evil", "[]", "evil", "-", "200"].join("\x1f");
    const lines = [forged, `a\x1e${[1, 1, 1, "-"].join("\x1f")}`, "a\x1fb"].map((tag) =>
      line({ ...fromClient, peerPrincipal: "-" }, [1, 1, 1, "-"], [tag]),
    );
    take(plan, ...lines);
    expect(text()).not.toMatch(/evil|mutual_tls/);
    expect(samples("istio_requests_total").reduce((sum, { value }) => sum + value, 0)).toBe(3);
    take(inbound, line({ ...fromClient, route: `x\x1f-\x1f500\x1f-` }, [1, 1, 1, "-"]));
    expect(samples("istio_requests_total").map(({ labels }) => labels.response_code)).not.toContain("500");
  });

  test("what is no number or has too few columns is left out and counted", () => {
    know("10.0.0.7", client);
    take(inbound, "", "x", request({}, [1, 2, 3]), request({}, [-1, 2, 3, "-"]), request({}, ["1e9", 2, 3, "-"]));
    take(inbound, request({ peerPrincipal: "spiffe://a\x1eb" }), request({ peerPrincipal: `${"9".repeat(20)}` }));
    expect(samples("fairlead_agent_metrics_malformed_total")[0]?.value).toBe(5);
    expect(samples("istio_requests_total")).toHaveLength(2);
    for (const bytes of [[0x0a, 0xff], [0x0a, 0x05, 0x12], [0x0b], Array(20).fill(0xff)])
      expect(() => counter.take(Uint8Array.from(bytes))).toThrow("protobuf");
  });

  test("quotes, newlines and control characters cannot break the format, and long values are cut", () => {
    const strange = `spiffe://x/"\\\n\x1b[31m${"y".repeat(1000)}`;
    take(inbound, request({ peerAddress: "-", peerPrincipal: strange }));
    const shown =
      text()
        .split("\n")
        .find((one) => one.startsWith("istio_requests_total")) ?? "";
    expect(shown).toContain('source_principal="spiffe://x/\\"\\\\\\n\\\\u001b[31myyy');
    expect(shown).not.toMatch(/[^\x20-\x7e]|y{300}/);
  });
});
