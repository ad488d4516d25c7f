/** Several objects for one host in one namespace: what a proxy is told, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio, pod, service, slice } from "./objects.ts";
import { type Json, renderProxy } from "./offline.ts";

const client = pod("client", { proxy: "sidecar", address: "10.0.0.9" });

interface EntryOptions {
  readonly year: number;
  readonly namespace?: string;
  readonly hosts?: readonly string[];
  readonly port?: number;
  readonly portName?: string;
  readonly [field: string]: unknown;
}

function entry(name: string, options: EntryOptions): KubeObject {
  const { year, namespace = "default", hosts = ["a.com"], port = 80, portName = "http", ...rest } = options;
  const ports = [{ number: port, name: portName, protocol: "HTTP" }];
  const made = istio("ServiceEntry", name, { hosts, ports, resolution: "DNS", ...rest });
  return { ...made, metadata: { ...made.metadata, namespace, creationTimestamp: `${year}-01-01T00:00:00Z` } };
}

const render = (...objects: readonly KubeObject[]) => renderProxy({ objects: [client, ...objects] });

const names = (json: Json): readonly string[] =>
  json.loadAssignment.endpoints
    .flatMap((group: Json) => group.lbEndpoints)
    .map(({ endpoint }: Json) => endpoint.address.socketAddress.address);

describe("two ServiceEntries", () => {
  test("that differ only in ports are one service with the ports of both", async () => {
    const { clusters } = await render(entry("one", { year: 2020 }), entry("two", { year: 2021, port: 81 }));
    expect([...clusters.keys()]).toEqual(expect.arrayContaining(["outbound|80||a.com", "outbound|81||a.com"]));
  });

  test.each([
    ["resolution", { resolution: "STATIC", endpoints: [{ address: "1.1.1.1" }] }],
    ["visibility", { exportTo: ["*"] }],
    ["namespace", { namespace: "other" }],
  ])("of different %s are not added up: the older has the host", async (_, options) => {
    const younger = entry("two", { year: 2021, port: 81, ...options });
    const { clusters } = await render(entry("one", { year: 2020 }), younger);
    expect(clusters.has("outbound|80||a.com")).toBe(true);
    expect(clusters.has("outbound|81||a.com")).toBe(false);
  });

  test("share endpoints, told apart by the number of their port", async () => {
    const { clusters } = await render(
      entry("one", { year: 2020, endpoints: [{ address: "one.com" }] }),
      entry("two", { year: 2021, port: 81, endpoints: [{ address: "two.com" }] }),
      entry("three", { year: 2022, portName: "web", endpoints: [{ address: "three.com" }] }),
    );
    expect(names(clusters.get("outbound|80||a.com"))).toEqual(["one.com", "three.com"]);
    expect(names(clusters.get("outbound|81||a.com"))).toEqual(["two.com"]);
  });

  test("are seen by whom each is exported to", async () => {
    const { clusters } = await render(
      entry("one", { year: 2020, namespace: "other", exportTo: ["."] }),
      entry("two", { year: 2021, namespace: "other", port: 81 }),
    );
    expect(clusters.has("outbound|80||a.com")).toBe(false);
    expect(clusters.has("outbound|81||a.com")).toBe(true);
  });
});

test("every address of a ServiceEntry brings all its endpoints", async () => {
  const { clusters } = await render(entry("one", { year: 2020, addresses: ["240.0.0.1", "240.0.0.2"] }));
  expect(names(clusters.get("outbound|80||a.com"))).toEqual(["a.com", "a.com"]);
});

test("a ServiceEntry for the host of a Service has its address, the Service the clusters", async () => {
  const host = "web.default.svc.cluster.local";
  const other = entry("other", { year: 2020, hosts: [host], port: 81, addresses: ["240.0.0.1"] });
  const tcp = { ...other, spec: { ...Object(other.spec), ports: [{ number: 81, name: "tcp", protocol: "TCP" }] } };
  const { clusters, listeners } = await render(service("web"), tcp);
  expect([...clusters.keys()].filter((name) => name.endsWith(host))).toEqual([`outbound|80||${host}`]);
  expect(listeners.has("240.0.0.1_81")).toBe(true);
});

test("no listener at the proxy's own address, even of a headless Service that it does not serve", async () => {
  const headless = service("db", { portName: "tcp", spec: { clusterIP: "None", selector: undefined } });
  const members = [
    { address: "10.0.0.9", pod: "client" },
    { address: "10.0.0.1", pod: "db" },
  ];
  const { listeners } = await render(headless, pod("db"), slice("db", members, 80, "tcp"));
  expect([...listeners.keys()].filter((name) => name.endsWith("_80"))).toEqual(["10.0.0.1_80"]);
});

test("a UDP port is no port of a host: its VirtualService counts as for a host that nobody has", async () => {
  const host = "web.default.svc.cluster.local";
  const udp = service("web", { spec: { ports: [{ name: "x", port: 80, targetPort: 80, protocol: "UDP" }] } });
  const route = istio("VirtualService", "web", {
    hosts: [host],
    http: [{ route: [{ destination: { host: "a.com" } }] }],
  });
  const { routes } = await render(udp, entry("a", { year: 2020 }), route);
  const found = routes.get("80").virtualHosts.find(({ name }: Json) => name === `${host}:80`);
  expect(found?.domains).toEqual([host]);
});

test("names declared for a host that is resolved when asked for are not checked: nobody knows who answers", async () => {
  const { clusters } = await render(
    entry("any", {
      year: 2020,
      hosts: ["*.c.com"],
      location: "MESH_INTERNAL",
      resolution: "DYNAMIC_DNS",
      subjectAltNames: ["spiffe://x/a"],
    }),
  );
  expect(JSON.stringify(clusters.get("outbound|80||*.c.com"))).not.toContain("spiffe://x/a");
});

test("a rule is found by host: for all of the host's services, that of the one that has the clusters", async () => {
  const host = "web.other.svc.cluster.local";
  const tcp = { ports: [{ number: 81, name: "tcp", protocol: "TCP" }], resolution: "NONE", addresses: ["240.0.0.1"] };
  const own = entry("own", { year: 2020, hosts: [host], ...tcp });
  const there = { namespace: "other", creationTimestamp: "2021-01-01T00:00:00Z" };
  const web = service("web", { port: 81, portName: "tcp" });
  const policy = { connectionPool: { tcp: { maxConnectionDuration: "7s" } } };
  const rule = istio("DestinationRule", "web", { host, trafficPolicy: policy });
  const port = { number: 81, name: "tcp", protocol: "TCP" };
  const egress = [{ port, bind: "10.9.9.9", hosts: ["other/*"] }, { hosts: ["./*"] }];
  const { listeners } = await render(
    istio("Sidecar", "two", { egress }),
    own,
    { ...web, metadata: { ...web.metadata, ...there } },
    { ...rule, metadata: { ...rule.metadata, ...there } },
  );
  expect(listeners.get("240.0.0.1_81").filterChains[0].filters[0].typedConfig.maxDownstreamConnectionDuration).toBe(
    "7s",
  );
});

test.each([
  ["a label of a topology", { "topology.istio.io/cluster": "Kubernetes" }, false],
  ["no label", {}, true],
])("a name that DNS is asked for is in a subset with %s: %o", async (_, labels, expected) => {
  const rule = istio("DestinationRule", "a", { host: "a.com", subsets: [{ name: "v1", labels }] });
  const { clusters } = await render(entry("one", { year: 2020 }), rule);
  expect(clusters.has("outbound|80|v1|a.com")).toBe(expected);
});

test("a network in a WorkloadEntry's labels counts more than the one in its field", async () => {
  const labels = { app: "vm", "topology.istio.io/network": "label" };
  const { endpoints } = await render(
    istio("WorkloadEntry", "vm", { address: "10.0.0.7", network: "field", labels }),
    service("vm"),
    istio("DestinationRule", "vm", {
      host: "vm",
      subsets: ["label", "field"].map((network) => ({
        name: network,
        labels: { "topology.istio.io/network": network },
      })),
    }),
  );
  const of = (subset: string) => endpoints.get(`outbound|80|${subset}|vm.default.svc.cluster.local`).endpoints?.length;
  expect([of("label"), of("field")]).toEqual([1, undefined]);
});

test("an inbound cluster names a host's first object, the Service", async () => {
  const host = "client.default.svc.cluster.local";
  const { clusters } = await render(
    service("client"),
    entry("same", {
      year: 2020,
      hosts: [host],
      port: 8080,
      resolution: "STATIC",
      workloadSelector: { labels: { app: "client" } },
    }),
  );
  const { services } = clusters.get("inbound|8080||").metadata.filterMetadata.istio;
  expect(services).toEqual([{ host, name: "client", namespace: "default" }]);
});
