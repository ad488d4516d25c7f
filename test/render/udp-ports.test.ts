/** A number that a service has for UDP and for TCP: connections are those of TCP, whichever is declared first. Objects in, JSON out. */
import { describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { bytesOf, type KubeObject, type ResourceType, types } from "../../src/model/index.ts";
import { createJsonPrinter, createRenderer } from "../../src/render/index.ts";
import { istio, pod, service } from "./objects.ts";
import { type Json, renderProxy } from "./offline.ts";

interface Port {
  readonly name: string;
  readonly port: number;
  readonly protocol: "UDP" | "TCP";
  readonly targetPort: number;
}

const dns: readonly Port[] = [
  { name: "dns", port: 53, protocol: "UDP", targetPort: 5353 },
  { name: "dns-tcp", port: 53, protocol: "TCP", targetPort: 5354 },
];
const quic = (tcp: Partial<Port> = {}): readonly Port[] => [
  { name: "quic", port: 8443, protocol: "UDP", targetPort: 8443 },
  { name: "http", port: 8443, protocol: "TCP", targetPort: 8080, ...tcp },
];

const orders = [
  { order: "UDP first", inOrder: <T>(ports: readonly T[]): readonly T[] => ports },
  { order: "TCP first", inOrder: <T>(ports: readonly T[]): readonly T[] => ports.toReversed() },
];

/** A Service of a Pod, with its EndpointSlice. */
function served(name: string, ports: readonly Port[], spec: object = {}, age = "2024"): readonly KubeObject[] {
  const made = service(name, { spec: { ports, ...spec } });
  return [
    { ...made, metadata: { ...made.metadata, creationTimestamp: `${age}-01-01T00:00:00Z` } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${name}-1`, namespace: "default", labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: ports.map(({ name: port, targetPort, protocol }) => ({ name: port, port: targetPort, protocol })),
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true }, targetRef: { kind: "Pod", name: "web" } }],
    },
  ];
}

const host = "web.default.svc.cluster.local";
const client = pod("client", { proxy: "sidecar", address: "10.0.0.9" });
const web = pod("web", { address: "10.0.0.1" });
const asClient = (...objects: readonly KubeObject[]) => renderProxy({ objects: [client, web, ...objects] });

const placesOf = (assignment: Json): readonly string[] =>
  assignment.endpoints
    .flatMap(({ lbEndpoints }: Json) => lbEndpoints)
    .map(({ endpoint }: Json) => endpoint.address.socketAddress)
    .map(({ address, portValue }: Json) => `${address}:${portValue}`);

const ports = (prefix: string, names: Iterable<string>): readonly string[] =>
  [...names].filter((name) => name.startsWith(prefix)).sort();

describe.each(orders)("$order, on the way out", ({ inOrder }) => {
  test("the cluster has the endpoints of TCP", async () => {
    const { clusters, endpoints } = await asClient(...served("web", inOrder(dns)));
    expect(ports(`outbound|53||${host}`, clusters.keys())).toHaveLength(1);
    expect(placesOf(endpoints.get(`outbound|53||${host}`))).toEqual(["10.0.0.1:5354"]);
  });

  test("so have its subsets", async () => {
    const rule = istio("DestinationRule", "web", { host, subsets: [{ name: "v1", labels: { app: "web" } }] });
    const { endpoints } = await asClient(...served("web", inOrder(dns)), rule);
    expect(placesOf(endpoints.get(`outbound|53|v1|${host}`))).toEqual(["10.0.0.1:5354"]);
  });

  test("a route to the number leads to TCP, in its protocol", async () => {
    const destination = { host: "web", port: { number: 8443 } };
    const route = istio("VirtualService", "v", { hosts: ["a.com"], http: [{ route: [{ destination }] }] });
    const entry = istio("ServiceEntry", "a", {
      hosts: ["a.com"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
    });
    const { routes, clusters, endpoints } = await asClient(...served("web", inOrder(quic())), entry, route);
    expect(JSON.stringify(routes.get("80"))).toContain(`"cluster":"outbound|8443||${host}"`);
    expect(placesOf(endpoints.get(`outbound|8443||${host}`))).toEqual(["10.0.0.1:8080"]);
    expect(clusters.get(`outbound|8443||${host}`).metadata.filterMetadata.istio.services).toHaveLength(1);
    expect(routes.get("8443").virtualHosts.map(({ name }: Json) => name)).toContain(`${host}:8443`);
  });

  test("a Sidecar that imports the number imports that of TCP", async () => {
    const port = { number: 53, name: "dns", protocol: "TCP" };
    const sidecar = istio("Sidecar", "s", { egress: [{ port, hosts: ["./*"] }] });
    const { endpoints, listeners } = await asClient(...served("web", inOrder(dns)), sidecar);
    expect(placesOf(endpoints.get(`outbound|53||${host}`))).toEqual(["10.0.0.1:5354"]);
    expect(listeners.has("10.96.0.1_53")).toBe(true);
  });

  test("a stock Envoy says that TCP is inside Istio's mTLS where the port of TCP is no HTTP", async () => {
    const rest = served("web", inOrder(quic({ name: "any" })));
    const target = { host: "web", port: { number: 8443 } };
    const route = istio("VirtualService", "v", { hosts: ["a.com"], tcp: [{ route: [{ destination: target }] }] });
    const entry = istio("ServiceEntry", "a", {
      hosts: ["a.com"],
      addresses: ["240.0.0.1"],
      ports: [{ number: 90, name: "tcp", protocol: "TCP" }],
      resolution: "STATIC",
    });
    const of = async (...objects: readonly KubeObject[]) =>
      (await renderProxy({ objects: [client, web, ...objects, entry, route], profile: "envoy" })).listeners.get(
        "240.0.0.1_90",
      );
    const alone = await of(...served("web", quic({ name: "any" }).slice(1)));
    expect(JSON.stringify(await of(...rest))).toBe(JSON.stringify(alone));
  });

  test.each(["STATIC", "DNS", "DNS_ROUND_ROBIN"])(
    "a ServiceEntry with resolution %s has the endpoints of TCP",
    async (resolution) => {
      const all = dns.map(({ port, protocol, ...rest }) => ({ ...rest, number: port, protocol }));
      const entry = istio("ServiceEntry", "web", {
        hosts: ["a.com"],
        ports: inOrder(all),
        resolution,
        endpoints: [{ address: resolution === "STATIC" ? "10.1.0.1" : "b.com" }],
      });
      const { clusters, endpoints } = await asClient(entry);
      const name = "outbound|53||a.com";
      const assignment = resolution === "STATIC" ? endpoints.get(name) : clusters.get(name).loadAssignment;
      expect(placesOf(assignment)).toEqual([resolution === "STATIC" ? "10.1.0.1:5354" : "b.com:5354"]);
    },
  );

  test.each(["DNS", "DNS_ROUND_ROBIN"])(
    "ServiceEntries for one host, with resolution %s, share no endpoints",
    async (resolution) => {
      const [udp, tcp] = dns.map(({ port, protocol, name, targetPort }, i) => {
        const made = istio("ServiceEntry", name, {
          hosts: ["a.com"],
          ports: [{ name, number: port, protocol, targetPort }],
          resolution,
          endpoints: [{ address: `${name}.com` }],
        });
        const year = inOrder(["2024", "2025"])[i];
        return { ...made, metadata: { ...made.metadata, creationTimestamp: `${year}-01-01T00:00:00Z` } };
      });
      if (!udp || !tcp) throw new Error("two objects");
      const { clusters } = await asClient(udp, tcp);
      const made = clusters.get("outbound|53||a.com");
      // As in istiod the older object has the number; it has no cluster where that is for UDP.
      if (inOrder([udp, tcp])[0] === udp) expect(made).toBeUndefined();
      else expect(placesOf(made.loadAssignment)).toEqual(["dns-tcp.com:5354"]);
    },
  );

  test.each(["DNS", "DNS_ROUND_ROBIN"])(
    "ServiceEntries for one host share no endpoints either where their ports have one name, with resolution %s",
    async (resolution) => {
      const entry = (name: string, port: object, year = "") => {
        const ports = [{ name: "main", ...port }];
        const made = istio("ServiceEntry", name, {
          ...{ hosts: ["a.com"], ports, resolution, endpoints: [{ address: `${name}.com` }] },
        });
        return { ...made, metadata: { ...made.metadata, creationTimestamp: `${year}-01-01T00:00:00Z` } };
      };
      const [udp, tcp] = inOrder(["2024", "2025"]);
      const { clusters } = await asClient(
        entry("udp", { number: 5000, protocol: "UDP" }, udp),
        entry("tcp", { number: 80, protocol: "HTTP" }, tcp),
      );
      expect(placesOf(clusters.get("outbound|80||a.com").loadAssignment)).toEqual(["tcp.com:80"]);
    },
  );

  test("a gRPC client is told of the endpoints of TCP", async () => {
    const renderer = proxyless([client, web, ...served("web", inOrder(dns))]);
    const name = `outbound|53||${host}`;
    expect((await renderer(types.listener, `${host}:53`)).name).toBe(`${host}:53`);
    expect((await renderer(types.cluster, name)).name).toBe(name);
    expect(placesOf(await renderer(types.endpoint, name))).toEqual(["10.0.0.1:5354"]);
  });

  test("a gRPC client finds nothing where a number is for UDP alone", async () => {
    const renderer = proxyless([client, web, ...served("web", inOrder([...dns, ...quic().slice(0, 1)]))]);
    expect((await renderer(types.listener, `${host}:53`)).name).toBe(`${host}:53`);
    await expect(renderer(types.listener, `${host}:8443`)).rejects.toThrow(`no ${host}:8443`);
  });
});

/** What a gRPC application is answered. */
function proxyless(objects: readonly KubeObject[]): (type: ResourceType, name: string) => Promise<Json> {
  const offline = createOffline({ objects });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const renderer = createRenderer(offline.mesh, offline.classOf({ ...proxy, profile: "grpc" }));
  const print = createJsonPrinter();
  return async (type, name) => {
    renderer.follow(type, name);
    const found = renderer.get(type, name);
    if (!found) throw new Error(`no ${name}`);
    return print(type, bytesOf(found));
  };
}

const server = pod("web", { proxy: "sidecar", address: "10.0.0.1" });
const tokens: KubeObject = {
  apiVersion: "security.istio.io/v1",
  kind: "RequestAuthentication",
  metadata: { name: "tokens", namespace: "default" },
  spec: { jwtRules: [{ issuer: "i", jwks: '{"keys":[]}' }] },
};

/** `http` or `tcp`, with `+jwt` where tokens are looked at, of each chain of a port. */
const chainsOf = (listeners: ReadonlyMap<string, Json>, port: number): readonly string[] =>
  listeners
    .get("virtualInbound")
    .filterChains.filter(({ filterChainMatch }: Json) => filterChainMatch.destinationPort === port)
    .map(({ filters }: Json) => {
      const { name, typedConfig } = filters.at(-1);
      const kind = name.endsWith("http_connection_manager") ? "http" : "tcp";
      const checks = (typedConfig.httpFilters ?? []).some((filter: Json) => filter.name.endsWith("jwt_authn"));
      return checks ? `${kind}+jwt` : kind;
    });

const servicesOf = (cluster: Json): readonly string[] =>
  cluster.metadata.filterMetadata.istio.services.map(({ name }: Json) => name);

describe.each(orders)("$order, on the way in", ({ inOrder }) => {
  const asServer = (...objects: readonly KubeObject[]) => renderProxy({ objects: [server, tokens, ...objects] });

  test("where TCP leads to a port of its own, requests on it show their tokens", async () => {
    const { listeners, clusters } = await asServer(...served("web", inOrder(quic())));
    expect(chainsOf(listeners, 8080)).toEqual(["http+jwt", "http+jwt"]);
    // As in istiod, what is declared for UDP alone is TCP of unknown content.
    expect(chainsOf(listeners, 8443)).toEqual(["tcp", "tcp", "tcp"]);
    expect(ports("inbound|", clusters.keys())).toEqual(["inbound|8080||", "inbound|8443||"]);
  });

  test("where both lead to one port, TCP says what is spoken there", async () => {
    const { listeners, clusters } = await asServer(...served("web", inOrder(quic({ targetPort: 8443 }))));
    expect(chainsOf(listeners, 8443)).toEqual(["http+jwt", "http+jwt"]);
    expect(ports("inbound|", clusters.keys())).toEqual(["inbound|8443||"]);
  });

  test("so it is where they are of two services, of which the older has UDP", async () => {
    const [udp, tcp] = quic({ port: 80 }).map((port) => ({ ...port, targetPort: 8443 }));
    if (!udp || !tcp) throw new Error("two ports");
    const [a, b] = inOrder(["2024", "2025"]);
    const services = [
      ...served("a", [udp], { selector: { app: "web" } }, a),
      ...served("b", [tcp], { selector: { app: "web" } }, b),
    ];
    const { listeners, clusters } = await asServer(...services);
    expect(chainsOf(listeners, 8443)).toEqual(["http+jwt", "http+jwt"]);
    expect(servicesOf(clusters.get("inbound|8443||"))).toEqual(["b"]);
  });

  test("a stat name has the port of TCP", async () => {
    const objects = [server, ...served("web", inOrder(quic()))];
    const { clusters } = await renderProxy({ objects, mesh: { inboundClusterStatName: "%SERVICE_PORT_NAME%" } });
    expect(clusters.get("inbound|8080||").altStatName).toBe("http;");
    expect(clusters.get("inbound|8443||").altStatName).toBe("quic;");
  });

  test("a Service without selector leads to the Pod of its slice as one with a selector", async () => {
    const { listeners } = await asServer(...served("web", inOrder(quic()), { selector: undefined, clusterIP: "None" }));
    expect(chainsOf(listeners, 8080)).toEqual(["http+jwt", "http+jwt"]);
  });

  test("a ServiceEntry leads to the workload that it selects likewise", async () => {
    const all = quic().map(({ port, name, targetPort, protocol }) => ({
      ...{ name, targetPort, number: port },
      protocol: protocol === "TCP" ? "HTTP" : protocol,
    }));
    const spec = {
      ...{ hosts: ["a.com"], location: "MESH_INTERNAL", resolution: "STATIC", ports: inOrder(all) },
      workloadSelector: { labels: { app: "web" } },
    };
    const { listeners } = await asServer(istio("ServiceEntry", "a", spec));
    expect(chainsOf(listeners, 8080)).toEqual(["http+jwt", "http+jwt"]);
  });

  test("a Sidecar's own port is of the service that has it for TCP", async () => {
    const [udp, tcp] = quic({ port: 80 }).map((port) => ({ ...port, targetPort: 8443 }));
    if (!udp || !tcp) throw new Error("two ports");
    const [a, b] = inOrder(["2024", "2025"]);
    const ingress = [{ port: { number: 8443, name: "http", protocol: "HTTP" }, defaultEndpoint: "127.0.0.1:8443" }];
    const { listeners, clusters } = await asServer(
      ...served("a", [udp], { selector: { app: "web" } }, a),
      ...served("b", [tcp], { selector: { app: "web" } }, b),
      istio("Sidecar", "s", { ingress, egress: [{ hosts: ["./*"] }] }),
    );
    expect(chainsOf(listeners, 8443)).toEqual(["http+jwt", "http+jwt"]);
    expect(servicesOf(clusters.get("inbound|8443||"))).toEqual(["b"]);
  });
});

describe.each(orders)("$order, at a gateway", ({ inOrder }) => {
  const edge = pod("edge", { proxy: "router", address: "10.0.0.8" });
  const gateway = (server: object): KubeObject =>
    istio("Gateway", "g", { selector: { app: "edge" }, servers: [server] });
  const atGateway = (mesh: Readonly<Record<string, unknown>>, ...objects: readonly KubeObject[]) =>
    renderProxy({ objects: [edge, web, ...objects], mesh });
  const server = { port: { number: 53, name: "tcp", protocol: "TCP" }, hosts: ["*"] };
  const http = { port: { number: 53, name: "http", protocol: "HTTP" }, hosts: ["*"] };

  test("a server has the port that TCP of its own Service leads to", async () => {
    const { listeners } = await atGateway({}, ...served("edge", inOrder(dns)), gateway(http));
    expect([...listeners.keys()]).toEqual(["0.0.0.0_5354"]);
  });

  test("so has a listener of the Gateway API, and no other", async () => {
    const { listeners } = await atGateway({}, ...served("edge", inOrder(dns)), {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "g", namespace: "default" },
      spec: {
        gatewayClassName: "istio",
        addresses: [{ type: "Hostname", value: "edge.default.svc.cluster.local" }],
        listeners: [{ name: "http", port: 53, protocol: "HTTP" }],
      },
    });
    expect([...listeners.keys()]).toEqual(["0.0.0.0_5354"]);
  });

  test("a TCP route to the number leads to TCP", async () => {
    const destination = { host: "web", port: { number: 53 } };
    const route = istio("VirtualService", "v", {
      ...{ hosts: ["*"], gateways: ["g"], tcp: [{ route: [{ destination }] }] },
    });
    const { listeners, endpoints } = await atGateway({}, ...served("web", inOrder(dns)), gateway(server), route);
    expect(JSON.stringify(listeners.get("0.0.0.0_53"))).toContain(`"cluster":"outbound|53||${host}"`);
    expect(placesOf(endpoints.get(`outbound|53||${host}`))).toEqual(["10.0.0.1:5354"]);
  });

  test("AUTO_PASSTHROUGH leads to TCP and says so", async () => {
    const passing = {
      port: { number: 15443, name: "tls", protocol: "TLS" },
      hosts: ["*.local"],
      tls: { mode: "AUTO_PASSTHROUGH" },
    };
    const mesh = { outboundClusterStatName: "%SERVICE_PORT_NAME%" };
    const { listeners, endpoints } = await atGateway(mesh, ...served("web", inOrder(dns)), gateway(passing));
    const chains = listeners.get("0.0.0.0_15443").filterChains;
    expect(chains.map(({ filters }: Json) => filters.at(-1).typedConfig.statPrefix)).toEqual(["dns-tcp"]);
    expect(placesOf(endpoints.get(`outbound_.53_._.${host}`))).toEqual(["10.0.0.1:5354"]);
  });
});
