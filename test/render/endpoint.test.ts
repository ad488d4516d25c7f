/** Which endpoints a proxy is told of, and with what, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio, node, pod, type SliceEndpoint, service, slice } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const web = "outbound|80||web.default.svc.cluster.local";
const nodes = [node("n1", "eu", "a"), node("n2", "eu", "b"), node("n3", "us", "a")];

const client = (options: Parameters<typeof pod>[1] = {}): KubeObject =>
  pod("client", { proxy: "sidecar", address: "10.0.0.9", node: "n1", ...options });

/** One server per node. */
function world(extra: readonly KubeObject[] = [], options: Parameters<typeof service>[1] = {}): readonly KubeObject[] {
  const pods = nodes.map((_, i) =>
    pod(`web-${i + 1}`, {
      address: `10.0.0.${i + 1}`,
      node: `n${i + 1}`,
      labels: { app: "web", version: `v${i + 1}` },
    }),
  );
  const endpoints = pods.map((_, i) => ({ address: `10.0.0.${i + 1}`, pod: `web-${i + 1}` }));
  return [client(), ...nodes, service("web", options), ...pods, slice("web", endpoints), ...extra];
}

const rule = (spec: object): KubeObject => istio("DestinationRule", "web", { host: "web", ...spec });

async function assignment(input: RenderInput, name = web): Promise<Json> {
  return (await renderProxy(input)).endpoints.get(name);
}

const addresses = (json: Json): readonly string[] =>
  (json.endpoints ?? [])
    .flatMap((group: Json) => group.lbEndpoints ?? [])
    .map((entry: Json) => entry.endpoint.address.socketAddress.address)
    .sort();

const priorities = (json: Json): Readonly<Record<string, number>> =>
  Object.fromEntries(
    json.endpoints.map((group: Json) => [`${group.locality.region}/${group.locality.zone}`, group.priority ?? 0]),
  );

describe("health", () => {
  const mixed = (extra: readonly KubeObject[] = [], labels: Record<string, string> = {}): readonly KubeObject[] => {
    const endpoints: SliceEndpoint[] = [
      { address: "10.0.0.1", pod: "web" },
      { address: "10.0.0.2", ready: false },
      { address: "10.0.0.3", ready: false, terminating: true },
    ];
    return [
      client(),
      service("web", { labels }),
      pod("web", { address: "10.0.0.1" }),
      slice("web", endpoints),
      ...extra,
    ];
  };

  test("not ready endpoints are told of as unhealthy, those going away not at all", async () => {
    const json = await assignment({ objects: mixed() });
    const statuses = json.endpoints[0].lbEndpoints.map((entry: Json) => entry.healthStatus);
    expect(statuses).toEqual(["HEALTHY", "UNHEALTHY"]);
  });

  test("with a panic threshold, unhealthy ones are kept back", async () => {
    const dr = rule({ trafficPolicy: { outlierDetection: { minHealthPercent: 10 } } });
    expect(addresses(await assignment({ objects: mixed([dr]) }))).toEqual(["10.0.0.1"]);
  });
});

describe("subsets", () => {
  test("have the endpoints with their labels", async () => {
    const dr = rule({
      subsets: [
        { name: "two", labels: { version: "v2" } },
        { name: "none", labels: { version: "v9" } },
      ],
    });
    const { endpoints } = await renderProxy({ objects: world([dr]) });
    expect(addresses(endpoints.get(web.replace("||", "|two|")))).toEqual(["10.0.0.2"]);
    expect(endpoints.get(web.replace("||", "|none|"))).toEqual({ clusterName: web.replace("||", "|none|") });
  });

  test("may be chosen by place", async () => {
    const dr = rule({ subsets: [{ name: "eu", labels: { "topology.kubernetes.io/region": "eu" } }] });
    expect(addresses(await assignment({ objects: world([dr]) }, web.replace("||", "|eu|")))).toEqual([
      "10.0.0.1",
      "10.0.0.2",
    ]);
  });
});

describe("places", () => {
  const outlierDetection = { consecutive5xxErrors: 1 };

  test("fail over only where failures are noticed", async () => {
    expect(priorities(await assignment({ objects: world() }))).toEqual({ "eu/a": 0, "eu/b": 0, "us/a": 0 });
    const dr = rule({ trafficPolicy: { outlierDetection } });
    expect(priorities(await assignment({ objects: world([dr]) }))).toEqual({ "eu/a": 0, "eu/b": 1, "us/a": 2 });
  });

  test("a rule can turn the mesh's setting off", async () => {
    const loadBalancer = { localityLbSetting: { enabled: false } };
    const dr = rule({ trafficPolicy: { outlierDetection, loadBalancer } });
    expect(priorities(await assignment({ objects: world([dr]) }))).toEqual({ "eu/a": 0, "eu/b": 0, "us/a": 0 });
  });

  test("what the mesh sets for all destinations makes no failover of endpoints", async () => {
    const mesh = { defaultTrafficPolicy: { outlierDetection } };
    expect(priorities(await assignment({ objects: world(), mesh }))).toEqual({ "eu/a": 0, "eu/b": 0, "us/a": 0 });
  });

  test("a Service may prefer what is close", async () => {
    const close = await assignment({ objects: world([], { spec: { ...spec, trafficDistribution: "PreferClose" } }) });
    expect(priorities(close)).toEqual({ "eu/a": 0, "eu/b": 1, "us/a": 2 });
    const here = await assignment({ objects: world([], { spec: { ...spec, trafficDistribution: "PreferSameNode" } }) });
    expect(priorities(here)["eu/a"]).toBe(0);
  });

  test("or allow only its own node", async () => {
    const json = await assignment({ objects: world([], { spec: { ...spec, internalTrafficPolicy: "Local" } }) });
    expect(addresses(json)).toEqual(["10.0.0.1"]);
  });
});

const spec = {
  clusterIP: "10.96.0.1",
  selector: { app: "web" },
  ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }],
};

describe("mTLS", () => {
  const mode = (json: Json): unknown =>
    json.endpoints[0].lbEndpoints[0].metadata.filterMetadata["envoy.transport_socket_match"]?.tlsMode;
  const one = (mesh: boolean, extra: readonly KubeObject[] = []) => [
    client(),
    service("web"),
    pod("web", { address: "10.0.0.1", mesh }),
    slice("web", [{ address: "10.0.0.1", pod: "web" }]),
    ...extra,
  ];

  test("goes to endpoints with a sidecar", async () => {
    expect(mode(await assignment({ objects: one(true) }))).toBe("istio");
    expect(mode(await assignment({ objects: one(false) }))).toBeUndefined();
  });

  test("not to a port where policy turns it off", async () => {
    const policy = istio("PeerAuthentication", "web", {
      selector: { matchLabels: { app: "web" } },
      portLevelMtls: { 8080: { mode: "DISABLE" } },
    });
    expect(mode(await assignment({ objects: one(true, [policy]) }))).toBeUndefined();
  });

  test("a rule's TLS above the ports holds where the port level has none", async () => {
    const portLevelSettings = [{ port: { number: 80 }, loadBalancer: { simple: "RANDOM" } }];
    const dr = rule({ trafficPolicy: { tls: { mode: "DISABLE" }, portLevelSettings } });
    expect(mode(await assignment({ objects: one(true, [dr]) }))).toBeUndefined();
  });
});

test("a gateway that passes TLS through leads only to servers with mTLS, by SNI", async () => {
  const gateway = istio("Gateway", "ew", {
    selector: { app: "client" },
    servers: [
      { port: { number: 15443, name: "tls", protocol: "TLS" }, hosts: ["*.local"], tls: { mode: "AUTO_PASSTHROUGH" } },
    ],
  });
  const objects = [
    client({ proxy: "router" }),
    gateway,
    service("web"),
    pod("web", { address: "10.0.0.1" }),
    pod("legacy", { address: "10.0.0.2", mesh: false, labels: { app: "web" } }),
    slice("web", [
      { address: "10.0.0.1", pod: "web" },
      { address: "10.0.0.2", pod: "legacy" },
    ]),
  ];
  const { clusters, endpoints } = await renderProxy({ objects });
  const sni = "outbound_.80_._.web.default.svc.cluster.local";
  expect(clusters.get(sni)).not.toHaveProperty("transportSocketMatches");
  expect(addresses(endpoints.get(sni))).toEqual(["10.0.0.1"]);
  expect(addresses(endpoints.get(web))).toEqual(["10.0.0.1", "10.0.0.2"]);
});
