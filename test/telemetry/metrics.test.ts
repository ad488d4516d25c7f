/** The standard metrics of stock Envoys, as Prometheus reads them, from requests between two sidecars. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import type { LiveRequest } from "../../src/read-api/index.ts";
import { type EdgeTraffic, summarize } from "../../src/traffic/index.ts";
import { service, slice } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { eventually, meshConfig } from "../traffic/mesh.ts";
import { type MetricsMesh, startMetricsMesh, type Workload } from "./mesh.ts";

/** HTTP on 8080 (the path is the status), metrics of its own on 9100, and on 9000 a server that sends back what it is sent. */
const app = `
import http from "node:http";
import net from "node:net";
http.createServer((request, response) => {
  response.statusCode = Number(request.url.slice(1)) || 200;
  response.end("hello");
}).listen(8080);
http.createServer((request, response) => response.end("app_up 1")).listen(9100);
net.createServer((socket) => socket.pipe(socket).on("error", () => {})).listen(9000);
`;

type Sample = { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number };

function parse(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, inner, value] = /^(istio_\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
    if (name === undefined || inner === undefined) return [];
    const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]);
    return [{ name, labels: Object.fromEntries(labels), value: Number(value) }];
  });
}

const matches = ({ labels: own }: Sample, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(labels).every(([key, value]) => own[key] === value);

describe.skipIf(lacks("root", "envoy", "iptables"))("two stock sidecars", () => {
  let mesh: MetricsMesh;
  let client: Workload;
  let server: Workload;
  let [web, raw] = ["", ""];

  beforeAll(async () => {
    mesh = await startMetricsMesh([
      meshConfig({ defaultProviders: { metrics: ["prometheus"] }, outboundTrafficPolicy: { mode: "ALLOW_ANY" } }),
    ]);
    [web, raw] = [mesh.serviceAddress(), mesh.serviceAddress()];
    const scrape = { "prometheus.io/scrape": "true", "prometheus.io/port": "9100" };
    server = await mesh.workload("server", { app, labels: { version: "v2" }, annotations: scrape });
    client = await mesh.workload("client", { labels: { app: "shop", version: "v1" } });
    await mesh.apply(
      service("server", { spec: { clusterIP: web } }),
      slice("server", [{ address: server.address, pod: "server" }]),
      service("raw", { port: 9000, portName: "tcp", targetPort: 9000, selector: "server", spec: { clusterIP: raw } }),
      slice("raw", [{ address: server.address, pod: "server" }], 9000, "tcp"),
    );
  }, 300_000);
  afterAll(() => mesh?.close());

  /** The samples of a metric with these labels, once the sum is as wanted. */
  async function sum(of: Workload, name: string, labels: Readonly<Record<string, string>>, wanted: number) {
    let found: readonly Sample[] = [];
    const check = async (): Promise<boolean> => {
      found = parse(await of.scrape()).filter((sample) => sample.name === name && matches(sample, labels));
      return found.reduce((total, { value }) => total + value, 0) === wanted;
    };
    await eventually(check, name).catch(async (error: unknown) => {
      const seen = (await of.scrape()).split("\n").filter((line) => line.startsWith(name));
      throw new Error(`${JSON.stringify(labels)} should have ${wanted} of\n${seen.join("\n")}`, { cause: error });
    });
    return found;
  }

  const identity = (account: string): string => `spiffe://cluster.local/ns/default/sa/${account}`;
  const source = {
    source_workload: "client",
    source_canonical_service: "shop",
    source_canonical_revision: "v1",
    source_workload_namespace: "default",
    source_principal: identity("client"),
    source_app: "shop",
    source_version: "v1",
    source_cluster: "Kubernetes",
  };
  const destination = {
    destination_workload: "server",
    destination_canonical_service: "server",
    destination_canonical_revision: "v2",
    destination_workload_namespace: "default",
    destination_principal: identity("server"),
    destination_app: "server",
    destination_version: "v2",
    destination_cluster: "Kubernetes",
  };
  const ofService = (name: string) => ({
    destination_service: `${name}.default.svc.cluster.local`,
    destination_service_name: name,
    destination_service_namespace: "default",
  });

  test("requests are counted by both, with who called whom, and by status", { timeout: 300_000 }, async () => {
    const call = { address: web, port: 80, host: "server" };
    await client.caller.requests({ ...call, path: "/200" }, 30);
    await client.caller.requests({ ...call, path: "/404" }, 7);
    const http = { ...source, ...destination, ...ofService("server"), request_protocol: "http" };
    const ends = { grpc_response_status: "", response_flags: "-" };
    for (const [of, seen] of [
      [client, { reporter: "source", connection_security_policy: "unknown" }],
      [server, { reporter: "destination", connection_security_policy: "mutual_tls" }],
    ] as const) {
      const [good] = await sum(of, "istio_requests_total", { ...seen, response_code: "200" }, 30);
      expect(good?.labels).toEqual({ ...http, ...seen, ...ends, response_code: "200" });
      await sum(of, "istio_requests_total", { ...seen, response_code: "404" }, 7);
      const all = { ...http, ...seen };
      await sum(of, "istio_request_duration_milliseconds_count", all, 37);
      await sum(of, "istio_request_duration_milliseconds_bucket", { ...all, le: "+Inf" }, 37);
      await sum(of, "istio_request_bytes_count", all, 37);
      await sum(of, "istio_response_bytes_count", all, 37);
      expect(parse(await of.scrape()).filter(({ labels }) => labels.source_workload === "unknown")).toEqual([]);
    }
  });

  test("connections are counted when they open, and their bytes when they close", { timeout: 300_000 }, async () => {
    const { received } = await client.caller.connect({ address: raw, port: 9000, send: "0123456789" });
    expect(received).toBe("0123456789");
    for (const [of, seen] of [
      [client, { reporter: "source" }],
      [server, { reporter: "destination", connection_security_policy: "mutual_tls" }],
    ] as const) {
      const all = { ...source, ...destination, ...ofService("raw"), ...seen, request_protocol: "tcp" };
      const [opened] = await sum(of, "istio_tcp_connections_opened_total", all, 1);
      expect(opened?.labels).not.toHaveProperty("response_code");
      await sum(of, "istio_tcp_connections_closed_total", all, 1);
      await sum(of, "istio_tcp_sent_bytes_total", all, 10);
      await sum(of, "istio_tcp_received_bytes_total", all, 10);
    }
  });

  test("the control plane is told the same by both, and knows rates without Prometheus", async () => {
    const range = { lastMs: 600_000 };
    const edges = async (): Promise<readonly EdgeTraffic[]> =>
      (await mesh.traffic.snapshot(range)).traffic.filter(({ source }) => source.workload === "client");
    const sides = async (of: "server" | "raw") => {
      const found = (await edges()).find(({ service }) => service.name === of);
      return [found?.bySource, found?.byDestination].map((one) => one?.requests?.requests ?? one?.connections?.closed);
    };
    await eventually(
      async () => JSON.stringify([await sides("server"), await sides("raw")]) === "[[37,37],[1,1]]",
      "the reports",
    );
    const requests = (await edges()).find(({ service }) => service.name === "server");
    expect(requests).toMatchObject({
      protocol: "http",
      source: { namespace: "default", workload: "client", app: "shop", version: "v1" },
      destination: { namespace: "default", workload: "server", app: "server", version: "v2" },
      service: { host: "server.default.svc.cluster.local", namespace: "default" },
      bySource: { requests: { clientErrors: 7, serverErrors: 0, mutual: 37 } },
      byDestination: { requests: { clientErrors: 7, serverErrors: 0, mutual: 37, plain: 0 } },
    });
    const bytes = { opened: 1, sentBytes: 10, receivedBytes: 10 };
    expect((await edges()).find(({ protocol }) => protocol === "tcp")).toMatchObject({
      bySource: { connections: bytes },
      byDestination: { connections: { ...bytes, mutual: 1 } },
    });
    const row = summarize(await mesh.traffic.snapshot(range), "workload").find(({ name }) => name === "server");
    expect(row).toMatchObject({ namespace: "default", success: 1, mutualTls: "all", protocols: ["http", "tcp"] });
    expect(row?.p99Ms).toBeGreaterThan(0);
    expect(mesh.traffic.about()).toMatchObject({ reporters: 2, foldedEdges: 0 });
  });

  test("requests are shown as they are made, to who asks for them, without queries and with few headers", async () => {
    const tap = mesh.taps.open({ of: { workload: "server" }, pathPrefix: "/20", headers: ["user-agent"] });
    const seen: LiveRequest[] = [];
    const headers = { "user-agent": "tester", authorization: "Bearer secret" };
    const call = { address: web, port: 80, host: "server", headers };
    // The order has come to the agent when the first one is shown.
    await eventually(async () => {
      await client.caller.requests({ ...call, path: "/204?token=secret" }, 1);
      await client.caller.requests({ ...call, path: "/404" }, 1);
      seen.push(...(await tap.next(1000)).requests);
      return seen.length > 0;
    }, "a live request");
    await client.caller.requests({ ...call, path: "/202", method: "PUT" }, 3);
    await eventually(async () => {
      seen.push(...(await tap.next(1000)).requests);
      return seen.filter(({ path }) => path === "/202").length === 3;
    }, "all live requests");
    tap.close();
    expect(seen.at(-1)).toMatchObject({
      ...{ side: "destination", protocol: "http", method: "PUT", authority: "server", status: 202, mutualTls: true },
      source: { namespace: "default", workload: "client" },
      destination: { workload: "server" },
      service: { name: "server" },
      headers: { "user-agent": "tester" },
    });
    expect(new Set(seen.map(({ path }) => path))).toEqual(new Set(["/204", "/202"]));
    expect(JSON.stringify(seen)).not.toContain("secret");
  });

  test("a Host header or a forged address is no label", { timeout: 300_000 }, async () => {
    const headers = { "x-forwarded-for": "1.2.3.4", "x-envoy-peer-metadata-id": "sidecar~1.2.3.4~evil.evil~evil" };
    const call = { address: server.address, host: "evil.example", headers, path: "/418" };
    // Port 80 has routes, and none for that host; of port 8080 the client's side knows nothing but the address.
    await client.caller.requests({ ...call, port: 80 }, 3);
    await client.caller.requests({ ...call, port: 8080 }, 5);
    const passed = {
      reporter: "source",
      destination_service_name: "PassthroughCluster",
      destination_workload: "server",
    };
    const [refused] = await sum(client, "istio_requests_total", { ...passed, response_code: "503" }, 3);
    expect(refused?.labels).toMatchObject({ destination_service: "unknown", destination_principal: "unknown" });
    await eventually(async () => {
      const samples = parse(await client.scrape()).filter((sample) => matches(sample, passed));
      return samples.some(({ name }) => name === "istio_tcp_connections_opened_total");
    }, "the connections to the address");
    const plain = { source_workload: "client", source_principal: "unknown", connection_security_policy: "none" };
    await sum(server, "istio_requests_total", { ...plain, reporter: "destination", response_code: "418" }, 5);
    // Over mutual TLS, too, only the certificate says who is calling.
    const forged = {
      ...headers,
      "x-forwarded-client-cert": "By=x;URI=spiffe://cluster.local/ns/evil/sa/evil",
      "x-envoy-peer-metadata": Buffer.from("\n\x04NAME\x12\x04evil").toString("base64"),
      "x-envoy-downstream-service-node": "evil",
      "x-envoy-downstream-service-cluster": "evil",
      baggage: "k8s.deployment.name=evil",
    };
    await client.caller.requests({ address: web, port: 80, host: "server", headers: forged, path: "/207" }, 4);
    for (const [of, reporter] of [
      [client, "source"],
      [server, "destination"],
    ] as const) {
      const seen = { ...source, ...destination, reporter, response_code: "207" };
      await sum(of, "istio_requests_total", seen, 4);
    }
    for (const of of [client, server]) expect(await of.scrape()).not.toMatch(/istio_.*(evil|1\.2\.3\.4)/);
  });

  test("the application's own metrics come along", async () => {
    const text = await server.scrape();
    expect(text).toContain("\napp_up 1\n");
    expect(text).toContain("envoy_server_state");
    expect(await client.scrape()).not.toContain("app_up");
  });

  test("Telemetry takes metrics and tags away, and adds tags", { timeout: 300_000 }, async () => {
    const overrides = [
      { match: { metric: "REQUEST_SIZE" }, disabled: true },
      {
        match: { metric: "REQUEST_COUNT", mode: "SERVER" },
        tagOverrides: {
          source_app: { operation: "REMOVE" },
          method: { value: "request.method" },
          team: { value: "'a'" },
        },
      },
    ];
    const telemetry: KubeObject = {
      apiVersion: "telemetry.istio.io/v1",
      kind: "Telemetry",
      metadata: { name: "t", namespace: "default" },
      spec: { metrics: [{ providers: [{ name: "prometheus" }], overrides }] },
    };
    await mesh.apply(telemetry);
    const seen = { reporter: "destination", response_code: "201", method: "PUT" };
    const counted = async (of: Workload, labels: Readonly<Record<string, string>>) =>
      parse(await of.scrape()).filter((sample) => matches(sample, labels));
    // Connections that are open go on as they began, so it takes a while until a request is counted the new way.
    await eventually(async () => {
      await client.caller.requests({ address: web, port: 80, host: "server", path: "/201", method: "PUT" }, 1, 1);
      return (await counted(server, seen)).length > 0;
    }, "the new tags");
    const [sample] = await counted(server, { ...seen, team: "a" });
    expect(sample?.name).toBe("istio_requests_total");
    expect(sample?.labels).toMatchObject({ source_workload: "client" });
    expect(sample?.labels).not.toHaveProperty("source_app");
    // The other metrics keep their tags, but for the one that is gone; and the other mode keeps all.
    const others = await counted(server, { reporter: "destination", response_code: "201", source_app: "shop" });
    expect(others.some(({ name }) => name === "istio_response_bytes_count")).toBe(true);
    const client201 = await counted(client, { reporter: "source", response_code: "201" });
    expect(client201.filter(({ labels }) => labels.method !== undefined || labels.source_app !== "shop")).toEqual([]);
  });
});
