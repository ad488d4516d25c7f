/** Which outbound listeners services, ServiceEntries, Sidecars and VirtualServices make, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import { type KubeObject, types } from "../../src/model/index.ts";
import { istio, pod, service, slice, smallMesh } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const listeners = async (objects: readonly KubeObject[], rest: Partial<RenderInput> = {}) =>
  (await renderProxy({ ...rest, objects })).listeners;

/** The filter that ends a chain, as `cluster`, `rds:name` or the weighted clusters. */
function end(chain: Json): string {
  const { typedConfig } = chain.filters.at(-1);
  if (typedConfig.rds) return `rds:${typedConfig.rds.routeConfigName}`;
  return typedConfig.cluster ?? typedConfig.weightedClusters.clusters.map((c: Json) => `${c.name}=${c.weight}`).join();
}

const chains = (listener: Json): readonly string[] => [
  ...listener.filterChains.map((chain: Json) => `${describeMatch(chain.filterChainMatch)} -> ${end(chain)}`),
  ...(listener.defaultFilterChain ? [`default -> ${end(listener.defaultFilterChain)}`] : []),
];

function describeMatch(match: Json): string {
  const ranges = match?.prefixRanges?.map((range: Json) => `${range.addressPrefix}/${range.prefixLen}`);
  return [match?.applicationProtocols, match?.serverNames, ranges].filter(Boolean).join(" ") || "any";
}

const client = pod("client", { proxy: "sidecar", address: "10.0.0.9" });
const http = "http/1.1,h2c";

const entry = (name: string, created: string, spec: Readonly<Record<string, unknown>>): KubeObject => {
  const object = istio("ServiceEntry", name, { resolution: "DNS", ...spec });
  return { ...object, metadata: { ...object.metadata, creationTimestamp: created } };
};

describe("protocol decides the listener", () => {
  test.each([
    ["http", "0.0.0.0_80", [`${http} -> rds:80`, "default -> PassthroughCluster"]],
    ["tcp", "10.96.0.1_80", ["any -> outbound|80||web.default.svc.cluster.local"]],
    [
      "anything",
      "10.96.0.1_80",
      [`${http} -> rds:web.default.svc.cluster.local:80`, "default -> outbound|80||web.default.svc.cluster.local"],
    ],
    ["https", "10.96.0.1_80", ["any -> outbound|80||web.default.svc.cluster.local"]],
  ])("%s", async (portName, name, expected) => {
    expect(chains((await listeners(smallMesh(portName))).get(name))).toEqual(expected);
  });

  test("Mongo is understood on the way", async () => {
    const listener = (await listeners(smallMesh("mongo"))).get("10.96.0.1_80");
    expect(listener.filterChains[0].filters.map((filter: Json) => filter.name)).toEqual([
      "envoy.filters.network.mongo_proxy",
      "envoy.filters.network.tcp_proxy",
    ]);
  });
});

describe("services that want the same port", () => {
  const [old, young] = ["2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"];
  const port = (protocol: string) => ({ ports: [{ number: 81, name: "p", protocol }] });
  const both = (first: string, second: string): readonly KubeObject[] => [
    client,
    entry("a", old, { hosts: ["a.com"], ...port(first) }),
    entry("b", young, { hosts: ["b.com"], ...port(second) }),
  ];

  test.each([
    ["TCP then HTTP", "TCP", "HTTP", [`${http} -> rds:81`, "default -> outbound|81||a.com"]],
    ["HTTP then TCP", "HTTP", "TCP", [`${http} -> rds:81`, "default -> outbound|81||b.com"]],
    ["sniffed then TCP: the first fallback stays", "", "TCP", [`${http} -> rds:81`, "default -> outbound|81||a.com"]],
    ["Mongo speaks first, so HTTP is left out", "MONGO", "HTTP", ["any -> outbound|81||a.com"]],
    [
      "TLS by name beside HTTP",
      "TLS",
      "HTTP",
      ["a.com -> outbound|81||a.com", `${http} -> rds:81`, "default -> PassthroughCluster"],
    ],
  ])("%s", async (_, first, second, expected) => {
    expect(chains((await listeners(both(first, second))).get("0.0.0.0_81"))).toEqual(expected);
  });

  test("two TLS hosts on the wildcard are told apart by name, and a TLS inspector reads it", async () => {
    const listener = (await listeners(both("TLS", "HTTPS"))).get("0.0.0.0_81");
    expect(chains(listener)).toEqual([
      "a.com -> outbound|81||a.com",
      "b.com -> outbound|81||b.com",
      "default -> PassthroughCluster",
    ]);
    expect(listener.listenerFilters.map((filter: Json) => filter.name)).toEqual([
      "envoy.filters.listener.tls_inspector",
    ]);
  });

  test("an ExternalName Service is another name of its target, in every form that clients may ask for", async () => {
    const host = entry("a", "2020-01-01T00:00:00Z", {
      hosts: ["a.com"],
      ports: [{ number: 443, name: "tls", protocol: "TLS" }],
    });
    const alias = service("other", { spec: { type: "ExternalName", externalName: "a.com", clusterIP: "" } });
    const listener = (await listeners([client, host, alias])).get("0.0.0.0_443");
    const names = [
      "a.com",
      "other",
      "other.default",
      "other.default.svc",
      "other.default.svc.cluster.local",
      "other.default.svc.cluster.local.",
    ];
    expect(chains(listener)[0]).toBe(`${names} -> outbound|443||a.com`);
  });

  test("a thousand TLS hosts on one port are merged in reasonable time", async () => {
    const many = Array.from({ length: 1000 }, (_, i) => entry(`s${i}`, old, { hosts: [`h${i}.com`], ...port("TLS") }));
    const listener = (await listeners([client, ...many])).get("0.0.0.0_81");
    expect(listener.filterChains).toHaveLength(1000);
  });
});

describe("addresses", () => {
  test("a range is matched on the wildcard, an address has its own listener", async () => {
    const spec = {
      hosts: ["r.com"],
      addresses: ["172.20.0.0/16", "172.30.1.1"],
      ports: [{ number: 90, name: "t", protocol: "TCP" }],
    };
    const made = await listeners([client, entry("r", "2021-01-01T00:00:00Z", { ...spec, resolution: "NONE" })]);
    expect(chains(made.get("0.0.0.0_90"))).toEqual([
      "172.20.0.0/16 -> outbound|90||r.com",
      "default -> PassthroughCluster",
    ]);
    expect(chains(made.get("172.30.1.1_90"))).toEqual(["any -> outbound|90||r.com"]);
  });

  test("a headless TCP service has a listener per member, but not for the proxy itself", async () => {
    const headless = service("web", { portName: "tcp", spec: { clusterIP: "None" } });
    const members = [
      { address: "10.0.0.9", pod: "web-0" },
      { address: "10.0.0.8", pod: "web-1" },
    ];
    const objects = [
      pod("web-0", { proxy: "sidecar", address: "10.0.0.9", labels: { app: "web" } }),
      pod("web-1", { address: "10.0.0.8", labels: { app: "web" } }),
      headless,
      slice("web", members, 8080, "tcp"),
    ];
    const names = [...(await listeners(objects)).keys()];
    expect(names).toContain("10.0.0.8_80");
    expect(names).not.toContain("10.0.0.9_80");
  });

  test("undeclared traffic is refused where only the registry counts", async () => {
    const made = await listeners(smallMesh(), { mesh: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } } });
    expect(chains(made.get("0.0.0.0_80")).at(-1)).toBe("default -> BlackHoleCluster");
    expect(chains(made.get("virtualOutbound"))).toEqual(["any -> BlackHoleCluster", "any -> BlackHoleCluster"]);
  });
});

describe("VirtualServices below HTTP", () => {
  const tcp = (rules: readonly unknown[]): KubeObject => istio("VirtualService", "v", { hosts: ["web"], tcp: rules });
  const to = (subset: string, weight?: number) => ({
    destination: { host: "web", subset },
    ...(weight ? { weight } : {}),
  });
  const cluster = (subset: string) => `outbound|80|${subset}|web.default.svc.cluster.local`;

  test("rules for subnets come before the one for all, which ends the search", async () => {
    const rules = [
      { match: [{ destinationSubnets: ["10.2.0.0/16"] }], route: [to("a")] },
      { match: [{ sourceLabels: { app: "somebody-else" } }], route: [to("never")] },
      { route: [to("b", 25), to("c", 75)] },
      { route: [to("unreached")] },
    ];
    const made = await listeners([...smallMesh("tcp"), tcp(rules)]);
    expect(chains(made.get("10.96.0.1_80"))).toEqual([
      `10.2.0.0/16 -> ${cluster("a")}`,
      `default -> ${cluster("b")}=25,${cluster("c")}=75`,
    ]);
  });

  test.each([
    ["no destination", { route: [] }],
    ["nothing but weights of zero", { route: [to("a"), to("b")] }],
  ])("a rule with %s routes nothing: the service itself is reached", async (_, rule) => {
    const made = await listeners([...smallMesh("tcp"), tcp([rule])]);
    expect(chains(made.get("10.96.0.1_80"))).toEqual([`any -> ${cluster("")}`]);
  });

  test("an invalid subnet is left out and everything else stays", async () => {
    const rules = [{ match: [{ destinationSubnets: ["10.300.0.0/16", "10.2.0.0/16"] }], route: [to("a")] }];
    const made = await listeners([...smallMesh("tcp"), tcp(rules)]);
    expect(chains(made.get("10.96.0.1_80"))).toEqual([`10.2.0.0/16 -> ${cluster("a")}`, `default -> ${cluster("")}`]);
  });

  test("a connection time that Envoy would refuse is left out, and the listener stays", async () => {
    const pool = { tcp: { maxConnectionDuration: "0s", idleTimeout: "7s" } };
    const rule = istio("DestinationRule", "r", { host: "web", trafficPolicy: { connectionPool: pool } });
    const made = await listeners([...smallMesh("tcp"), rule]);
    expect(chains(made.get("10.96.0.1_80"))).toEqual([`any -> ${cluster("")}`]);
  });

  test("the VirtualService and its field are remembered as the cause", async () => {
    const rendered = await renderProxy({ objects: [...smallMesh("tcp"), tcp([{ route: [to("a")] }])] });
    expect(rendered.causes(types.listener, "10.96.0.1_80")).toContain("VirtualService/default/v#spec.tcp[0]");
  });
});

describe("Sidecar egress", () => {
  const sidecar = (egress: readonly unknown[]): KubeObject => istio("Sidecar", "s", { egress });

  test("a declared port is not added to by the catch-all after it", async () => {
    const egress = [
      { port: { number: 80, protocol: "TCP", name: "t" }, bind: "127.0.0.1", captureMode: "NONE", hosts: ["./*"] },
      { hosts: ["./*"] },
    ];
    const made = await listeners([...smallMesh("http"), sidecar(egress)]);
    expect(made.get("127.0.0.1_80").bindToPort).toBeUndefined();
    expect(chains(made.get("127.0.0.1_80"))).toEqual(["any -> outbound|80||web.default.svc.cluster.local"]);
    expect(chains(made.get("0.0.0.0_80"))[0]).toBe(`${http} -> rds:80`);
  });

  test("a Unix socket names its routes", async () => {
    const egress = [{ port: { number: 0, protocol: "HTTP", name: "u" }, bind: "unix:///x.sock", hosts: ["./*"] }];
    const listener = (await listeners([...smallMesh(), sidecar(egress)])).get("unix:///x.sock_0");
    expect(listener.address).toEqual({ pipe: { path: "/x.sock" } });
    expect(chains(listener)).toEqual(["any -> rds:unix:///x.sock"]);
  });

  test("Envoy's own ports stay its own", async () => {
    const egress = [{ port: { number: 15001, protocol: "HTTP", name: "h" }, hosts: ["./*"] }];
    expect([...(await listeners([...smallMesh(), sidecar(egress)])).keys()].sort()).toEqual([
      "virtualInbound",
      "virtualOutbound",
    ]);
  });
});

describe("a stock Envoy", () => {
  test("raw TCP onto a cluster that may carry HTTP says that it is TCP; declared TCP needs not", async () => {
    const names = async (portName: string) => {
      const listener = (await listeners(smallMesh(portName), { profile: "envoy" })).get("10.96.0.1_80");
      return (listener.defaultFilterChain ?? listener.filterChains[0]).filters.map((filter: Json) => filter.name);
    };
    expect(await names("anything")).toEqual([
      "envoy.filters.network.set_filter_state",
      "envoy.filters.network.tcp_proxy",
    ]);
    expect(await names("tcp")).toEqual(["envoy.filters.network.tcp_proxy"]);
  });

  test("a socket that is not Istio's own is left alone", async () => {
    const rule = istio("DestinationRule", "r", { host: "web", trafficPolicy: { tls: { mode: "SIMPLE" } } });
    const listener = (await listeners([...smallMesh("anything"), rule], { profile: "envoy" })).get("10.96.0.1_80");
    expect(listener.defaultFilterChain.filters).toHaveLength(1);
  });

  test("has none of Istio's filters, and does not accept metadata exchange, but still recognises peers that offer it", async () => {
    const objects = [
      pod("web", { proxy: "sidecar" }),
      service("web", { portName: "anything" }),
      slice("web", [{ address: "10.0.0.1", pod: "web" }], 8080, "anything"),
    ];
    const made = await listeners(objects, { profile: "envoy" });
    const text = JSON.stringify([...made.values()]);
    for (const name of ["istio.alpn", "istio.metadata_exchange", "istio.stats"])
      expect(text).not.toContain(`"name":"${name}"`);
    const inbound = made.get("virtualInbound").filterChains;
    const alpns = inbound.flatMap(
      (chain: Json) => chain.transportSocket?.typedConfig.commonTlsContext.alpnProtocols ?? [],
    );
    expect(new Set(alpns)).toEqual(new Set(["h2", "http/1.1"]));
    expect(
      inbound.some((chain: Json) => chain.filterChainMatch.applicationProtocols?.includes("istio-peer-exchange")),
    ).toBe(true);
  });
});
