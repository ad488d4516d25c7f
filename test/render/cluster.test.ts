/** What each field of a DestinationRule does to a cluster, objects in to JSON out, as istiod's generator has it. */
import { describe, expect, test } from "vitest";
import { type KubeObject, types } from "../../src/model/index.ts";
import { istio, pod, service, slice, smallMesh } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const web = "outbound|80||web.default.svc.cluster.local";
const httpOptionsKey = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

const rule = (spec: Readonly<Record<string, unknown>>): KubeObject =>
  istio("DestinationRule", "web", { host: "web", ...spec });

async function cluster(
  input: Partial<RenderInput> & { policy?: object; portName?: string },
  name = web,
): Promise<Json> {
  const { policy, portName, ...rest } = input;
  const objects = [...(input.objects ?? smallMesh(portName)), ...(policy ? [rule({ trafficPolicy: policy })] : [])];
  return (await renderProxy({ ...rest, objects })).clusters.get(name);
}

const http = (json: Json): Json => json.typedExtensionProtocolOptions?.[httpOptionsKey];
const istioSocket = (json: Json): Json => json.transportSocketMatches[0].transportSocket.typedConfig;

describe("connection pool", () => {
  test("limits, and none where zero", async () => {
    const connectionPool = {
      tcp: { maxConnections: 5, connectTimeout: "30ms", tcpKeepalive: { probes: 3, time: "7200s" } },
      http: { http1MaxPendingRequests: 0, http2MaxRequests: 7, maxRetries: 2 },
    };
    const json = await cluster({ policy: { connectionPool }, mesh: { tcpKeepalive: { interval: "75s", probes: 9 } } });
    const [threshold] = json.circuitBreakers.thresholds;
    expect(threshold).toEqual({ maxConnections: 5, maxPendingRequests: 4294967295, maxRequests: 7, maxRetries: 2 });
    expect(json.connectTimeout).toBe("0.030s");
    expect(json.upstreamConnectionOptions.tcpKeepalive).toEqual({
      keepaliveProbes: 3,
      keepaliveTime: 7200,
      keepaliveInterval: 75,
    });
  });

  test("an HTTP idle time wins over a TCP one", async () => {
    const tcp = { idleTimeout: "10s", maxConnectionDuration: "20s" };
    const both = await cluster({ policy: { connectionPool: { tcp, http: { idleTimeout: "5s" } } } });
    expect(http(both).commonHttpProtocolOptions).toEqual({ idleTimeout: "5s", maxConnectionDuration: "20s" });
    const only = await cluster({ policy: { connectionPool: { tcp } } });
    expect(http(only).commonHttpProtocolOptions.idleTimeout).toBe("10s");
  });

  test("retry budget with its defaults", async () => {
    const json = await cluster({ policy: { retryBudget: {} } });
    expect(json.circuitBreakers.thresholds[0].retryBudget).toEqual({
      budgetPercent: { value: 20 },
      minRetryConcurrency: 3,
    });
    const spelled = await cluster({ policy: { retryBudget: { percent: 0, budgetInterval: "4s" } } });
    expect(spelled.circuitBreakers.thresholds[0].retryBudget).toEqual({
      budgetPercent: {},
      budgetInterval: "4s",
      minRetryConcurrency: 3,
    });
  });
});

describe("HTTP version", () => {
  const upgrade = { connectionPool: { http: { h2UpgradePolicy: "UPGRADE", maxConcurrentStreams: 9 } } };
  const http2 = { explicitHttpConfig: { http2ProtocolOptions: {} } };
  const downstream = { useDownstreamProtocolConfig: { httpProtocolOptions: {}, http2ProtocolOptions: {} } };

  test.each<[string, string, RenderInput["mesh"], object | undefined, object | undefined]>([
    ["declared HTTP/1", "http", undefined, undefined, undefined],
    ["declared gRPC", "grpc", undefined, undefined, http2],
    ["sniffed", "x", undefined, undefined, downstream],
    ["mesh-wide upgrade of HTTP", "http", { h2UpgradePolicy: "UPGRADE" }, undefined, http2],
    ["mesh-wide upgrade of TCP", "tcp", { h2UpgradePolicy: "UPGRADE" }, undefined, undefined],
    ["mesh-wide upgrade of a sniffed port", "x", { h2UpgradePolicy: "UPGRADE" }, undefined, downstream],
    ["a rule's no", "http", { h2UpgradePolicy: "UPGRADE" }, { h2UpgradePolicy: "DO_NOT_UPGRADE" }, undefined],
    ["a rule's yes for TCP", "tcp", undefined, { h2UpgradePolicy: "UPGRADE" }, http2],
    [
      "client's protocol wins over upgrade",
      "http",
      undefined,
      { h2UpgradePolicy: "UPGRADE", useClientProtocol: true },
      downstream,
    ],
  ])("%s", async (_, portName, mesh, settings, expected) => {
    const policy = settings && { connectionPool: { http: settings } };
    const json = await cluster({ portName, ...(mesh ? { mesh } : {}), ...(policy ? { policy } : {}) });
    const { "@type": _type, ...options } = http(json) ?? {};
    expect(Object.keys(options).length > 0 ? options : undefined).toEqual(expected);
  });

  test("HTTP/2 limits only where HTTP/2 is spoken", async () => {
    const json = await cluster({ policy: upgrade });
    expect(http(json).explicitHttpConfig.http2ProtocolOptions).toEqual({ maxConcurrentStreams: 9 });
    const plain = await cluster({ policy: { connectionPool: { http: { maxConcurrentStreams: 9 } } } });
    expect(http(plain)).toMatchObject({
      commonHttpProtocolOptions: {},
      explicitHttpConfig: { httpProtocolOptions: {} },
    });
  });

  test("gateways do not sniff", async () => {
    expect(http(await cluster({ objects: smallMesh("x", "router") }))).toBeUndefined();
  });
});

describe("load balancer", () => {
  test.each<[object, object]>([
    [{}, { lbPolicy: "LEAST_REQUEST" }],
    [{ simple: "LEAST_CONN" }, { lbPolicy: "LEAST_REQUEST" }],
    [{ simple: "RANDOM" }, { lbPolicy: "RANDOM" }],
    [{ consistentHash: { useSourceIp: true } }, { ringHashLbConfig: { minimumRingSize: "1024" } }],
    [{ consistentHash: { httpHeaderName: "x", minimumRingSize: 7 } }, { ringHashLbConfig: { minimumRingSize: "7" } }],
    [{ consistentHash: { httpHeaderName: "x", maglev: { tableSize: 101 } } }, { maglevLbConfig: { tableSize: "101" } }],
    [
      { simple: "ROUND_ROBIN", warmup: { duration: "30s" } },
      {
        roundRobinLbConfig: {
          slowStartConfig: {
            slowStartWindow: "30s",
            aggression: { defaultValue: 1, runtimeKey: "(" },
            minWeightPercent: { value: 10 },
          },
        },
      },
    ],
    [
      { warmupDurationSecs: "9s" },
      { lbPolicy: "LEAST_REQUEST", leastRequestLbConfig: { slowStartConfig: { slowStartWindow: "9s" } } },
    ],
  ])("%j", async (loadBalancer, expected) => {
    expect(await cluster({ policy: { loadBalancer } })).toMatchObject(expected);
  });

  test("a ring hash without a size leaves it to Envoy", async () => {
    const json = await cluster({ policy: { loadBalancer: { consistentHash: { useSourceIp: true, ringHash: {} } } } });
    expect(json.lbPolicy).toBe("RING_HASH");
    expect(json).not.toHaveProperty("ringHashLbConfig");
  });

  test("PASSTHROUGH goes to the original destination, with one socket for all", async () => {
    const objects = [...smallMesh(), rule({ trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } } })];
    const { clusters, endpoints } = await renderProxy({ objects });
    expect(clusters.get(web)).toMatchObject({ type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" });
    expect(clusters.get(web)).not.toHaveProperty("edsClusterConfig");
    expect(clusters.get(web).transportSocket.name).toBe("envoy.transport_sockets.tls");
    expect(endpoints.has(web)).toBe(false);
  });

  test("PASSTHROUGH of a subset is that subset's alone", async () => {
    const subset = { name: "v1", labels: {}, trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } } };
    const { clusters } = await renderProxy({ objects: [...smallMesh(), rule({ subsets: [subset] })] });
    expect(clusters.get(web).type).toBe("EDS");
    expect(clusters.get(web.replace("||", "|v1|")).type).toBe("ORIGINAL_DST");
  });

  test("PASSTHROUGH holds where a number out of range takes the rest of the policy away", async () => {
    const outlierDetection = { maxEjectionPercent: 200 };
    const trafficPolicy = { loadBalancer: { simple: "PASSTHROUGH" }, outlierDetection };
    const { clusters, endpoints } = await renderProxy({ objects: [...smallMesh(), rule({ trafficPolicy })] });
    expect(clusters.get(web)).toMatchObject({ type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" });
    expect(clusters.get(web)).not.toHaveProperty("outlierDetection");
    expect(endpoints.has(web)).toBe(false);
  });
});

describe("outlier detection", () => {
  test("zero turns a check off; the panic threshold is off unless set", async () => {
    const outlierDetection = { consecutive5xxErrors: 0, consecutiveGatewayErrors: 3, minHealthPercent: 20 };
    const json = await cluster({ policy: { outlierDetection } });
    expect(json.outlierDetection).toEqual({
      consecutive5xx: 0,
      enforcingConsecutive5xx: 0,
      consecutiveGatewayFailure: 3,
      enforcingConsecutiveGatewayFailure: 100,
      enforcingSuccessRate: 0,
    });
    expect(json.commonLbConfig.healthyPanicThreshold).toEqual({ value: 20 });
    expect((await cluster({ policy: { outlierDetection: {} } })).commonLbConfig.healthyPanicThreshold).toEqual({});
  });

  test("status codes of the user's choice", async () => {
    const codes = (list: number[]) =>
      cluster({ policy: { outlierDetection: { outlierDetectionHttpErrorCodes: list } } }).then(
        (json) => http(json).outlierDetection.errorMatcher,
      );
    expect(await codes([429])).toEqual({
      httpResponseHeadersMatch: { headers: [{ name: ":status", stringMatch: { exact: "429" } }] },
    });
    expect((await codes([429, 503])).orMatch.rules).toHaveLength(2);
  });
});

describe("TLS", () => {
  test("auto mTLS asks each endpoint", async () => {
    const json = await cluster({});
    expect(json.transportSocketMatches.map((entry: Json) => entry.name)).toEqual(["tlsMode-istio", "tlsMode-disabled"]);
    expect(istioSocket(json)).toMatchObject({
      sni: "outbound_.80_._.web.default.svc.cluster.local",
      commonTlsContext: {
        alpnProtocols: ["istio-peer-exchange", "istio"],
        combinedValidationContext: {
          defaultValidationContext: { matchSubjectAltNames: [{ exact: "spiffe://cluster.local/ns/default/sa/web" }] },
        },
      },
    });
  });

  test("PeerAuthentication DISABLE turns it off", async () => {
    const objects = [...smallMesh(), istio("PeerAuthentication", "off", { mtls: { mode: "DISABLE" } })];
    const { clusters, endpoints } = await renderProxy({ objects });
    expect(clusters.get(web)).not.toHaveProperty("transportSocketMatches");
    const [endpoint] = endpoints.get(web).endpoints[0].lbEndpoints;
    expect(endpoint.metadata.filterMetadata).not.toHaveProperty("envoy.transport_socket_match");
  });

  test("a sidecar may use a secret only by a rule that selects it", async () => {
    const tls = { mode: "SIMPLE", credentialName: "ca", sni: "web.example" };
    expect(await cluster({ policy: { tls } })).not.toHaveProperty("transportSocket");
    const selected = rule({ trafficPolicy: { tls }, workloadSelector: { matchLabels: { app: "client" } } });
    const json = await cluster({ objects: [...smallMesh(), selected] });
    const context = json.transportSocket.typedConfig.commonTlsContext;
    expect(context.combinedValidationContext.validationContextSdsSecretConfig.name).toBe("kubernetes://ca-cacert");
    const gateway = await cluster({ objects: [...smallMesh("http", "router"), rule({ trafficPolicy: { tls } })] });
    expect(gateway).toHaveProperty("transportSocket");
  });

  test("without a name to check, Envoy checks the one that was asked for", async () => {
    const names = async (tls: object) => http(await cluster({ policy: { tls } }))?.upstreamHttpProtocolOptions;
    expect(await names({ mode: "SIMPLE" })).toEqual({ autoSni: true, autoSanValidation: true });
    expect(await names({ mode: "SIMPLE", subjectAltNames: ["a"] })).toEqual({ autoSni: true });
    expect(await names({ mode: "SIMPLE", insecureSkipVerify: true })).toEqual({ autoSni: true });
    expect(await names({ mode: "SIMPLE", sni: "a" })).toBeUndefined();
    expect(await names({ mode: "ISTIO_MUTUAL" })).toBeUndefined();
  });

  test("MUTUAL without a certificate is no TLS", async () => {
    expect(await cluster({ policy: { tls: { mode: "MUTUAL" } } })).not.toHaveProperty("transportSocket");
  });

  test("the PROXY header goes around every socket", async () => {
    const name = "envoy.transport_sockets.upstream_proxy_protocol";
    const auto = await cluster({ policy: { proxyProtocol: { version: "V2" } } });
    expect(auto.transportSocketMatches.map((entry: Json) => entry.transportSocket.name)).toEqual([name, name]);
    const plain = await cluster({ policy: { proxyProtocol: {}, tls: { mode: "DISABLE" } } });
    expect(plain.transportSocket.typedConfig.transportSocket.name).toBe("raw_buffer");
  });
});

describe("the stock profile", () => {
  const alpn = async (portName: string) =>
    istioSocket(await cluster({ portName, profile: "envoy" })).commonTlsContext.alpnProtocols;

  test("names HTTP itself and never offers metadata exchange", async () => {
    expect(await alpn("http")).toEqual(["istio-http/1.1", "istio"]);
    expect(await alpn("x")).toEqual(["istio-http/1.1", "istio"]);
    expect(await alpn("grpc")).toEqual(["istio-h2", "istio", "h2"]);
    expect(await alpn("tcp")).toEqual(["istio"]);
  });

  test("has none of Istio's filters", async () => {
    const { clusters } = await renderProxy({ objects: smallMesh(), profile: "envoy" });
    expect([...clusters.values()].filter((json) => json.filters)).toEqual([]);
  });
});

describe("services outside the mesh", () => {
  const entry = (spec: object): KubeObject =>
    istio("ServiceEntry", "ext", { ports: [{ number: 80, name: "http", protocol: "HTTP" }], ...spec });
  const external = (spec: object, name: string, objects: readonly KubeObject[] = []) =>
    cluster({ objects: [pod("client", { proxy: "sidecar" }), entry(spec), ...objects] }, name);

  test("a wildcard host is resolved when it is asked for", async () => {
    const host = "*.example.com";
    const json = await external({ hosts: [host], resolution: "DYNAMIC_DNS" }, `outbound|80||${host}`);
    expect(json.clusterType.name).toBe("envoy.clusters.dynamic_forward_proxy");
    expect(json.lbPolicy).toBe("CLUSTER_PROVIDED");
    const tls = istio("DestinationRule", "ext", { host, trafficPolicy: { tls: { mode: "SIMPLE" } } });
    const secured = await external({ hosts: [host], resolution: "DYNAMIC_DNS" }, `outbound|80||${host}`, [tls]);
    expect(secured.clusterType.typedConfig).not.toHaveProperty("allowInsecureClusterOptions");
    expect(http(secured).upstreamHttpProtocolOptions).toEqual({ autoSni: true, autoSanValidation: true });
  });

  test("a moved port follows the original address", async () => {
    const ports = [{ number: 443, name: "tls", protocol: "TLS", targetPort: 8443 }];
    const json = await external({ hosts: ["a.example"], ports, resolution: "NONE" }, "outbound|443||a.example");
    expect(json.originalDstLbConfig).toEqual({ upstreamPortOverride: 8443 });
  });

  test("a subset without DNS names has no cluster", async () => {
    const endpoints = [{ address: "one.example.net", labels: { version: "v1" } }];
    const subsets = ["v1", "v2"].map((name) => ({ name, labels: { version: name } }));
    const dr = istio("DestinationRule", "ext", { host: "a.example", subsets });
    const spec = { hosts: ["a.example"], resolution: "DNS", endpoints };
    expect(await external(spec, "outbound|80|v1|a.example", [dr])).toMatchObject({ type: "STRICT_DNS" });
    expect(await external(spec, "outbound|80|v2|a.example", [dr])).toBeUndefined();
  });

  test("where no name is left at all, PASSTHROUGH makes no cluster of a subset", async () => {
    const trafficPolicy = { loadBalancer: { simple: "PASSTHROUGH" } };
    const dr = istio("DestinationRule", "ext", { host: "a.example", trafficPolicy, subsets: [{ name: "v1" }] });
    const spec = { hosts: ["a.example"], resolution: "DNS" };
    const nobody = { ...spec, workloadSelector: { labels: { app: "nobody" } } };
    expect(await external(spec, "outbound|80|v1|a.example", [dr])).toMatchObject({ type: "ORIGINAL_DST" });
    expect(await external(nobody, "outbound|80|v1|a.example", [dr])).toBeUndefined();
  });

  test("unknown hosts are resolved where the mesh says so", async () => {
    const outboundTrafficPolicy = { mode: "ALLOW_ANY_DYNAMIC_DNS" };
    const json = await cluster({ mesh: { outboundTrafficPolicy } }, "AllowAnyDynamicDNSCluster");
    expect(json.clusterType.typedConfig).toMatchObject({
      dnsCacheConfig: { name: "allow_any_dfp_dns_cache" },
      allowInsecureClusterOptions: true,
    });
    const tls = { mode: "SIMPLE" };
    const secured = await cluster({ mesh: { outboundTrafficPolicy: { ...outboundTrafficPolicy, tls } } }, json.name);
    expect(http(secured).upstreamHttpProtocolOptions).toEqual({ autoSni: true, autoSanValidation: true });
  });
});

describe("inbound", () => {
  const own = (extra: readonly KubeObject[] = []) => [
    pod("web", { proxy: "sidecar", address: "10.0.0.1" }),
    service("web"),
    slice("web", [{ address: "10.0.0.1", pod: "web" }]),
    ...extra,
  ];
  const inbound = (input: Partial<RenderInput>) => cluster({ objects: own(), ...input }, "inbound|8080||");

  test("keeps the destination by default, or goes to the loopback address", async () => {
    expect(await inbound({})).toMatchObject({
      type: "ORIGINAL_DST",
      cleanupInterval: "9223372035s",
      upstreamBindConfig: { sourceAddress: { address: "127.0.0.6" } },
    });
    const local = await inbound({ mesh: { inboundTrafficPolicy: { mode: "LOCALHOST" } } });
    expect(local.loadAssignment.endpoints[0].lbEndpoints[0].endpoint.address.socketAddress).toEqual({
      address: "127.0.0.1",
      portValue: 8080,
    });
    expect(local).not.toHaveProperty("upstreamBindConfig");
  });

  test("takes limits from the rule, unless the Sidecar has its own", async () => {
    const limits = (maxConnections: number) => ({ tcp: { maxConnections } });
    const dr = rule({ trafficPolicy: { connectionPool: limits(1) } });
    const max = (json: Json) => json.circuitBreakers.thresholds[0].maxConnections;
    expect(max(await inbound({ objects: own([dr]) }))).toBe(1);
    const sidecar = istio("Sidecar", "default", { egress: [{ hosts: ["*/*"] }], inboundConnectionPool: limits(2) });
    expect(max(await inbound({ objects: own([dr, sidecar]) }))).toBe(2);
  });

  test("a rule for certain clients says nothing of the server", async () => {
    const dr = rule({
      trafficPolicy: { connectionPool: { tcp: { maxConnections: 1 } } },
      workloadSelector: { matchLabels: { app: "web" } },
    });
    const json = await inbound({ objects: own([dr]) });
    expect(json.circuitBreakers.thresholds[0].maxConnections).toBe(4294967295);
  });
});

test("a cluster knows the fields that made it", async () => {
  const policy = { portLevelSettings: [{ port: { number: 80 }, tls: { mode: "DISABLE" } }], connectionPool: {} };
  const { causes } = await renderProxy({ objects: [...smallMesh(), rule({ trafficPolicy: policy })] });
  expect(causes(types.cluster, web)).toContain(
    "DestinationRule/default/web#spec.trafficPolicy.portLevelSettings[0].tls",
  );
});
