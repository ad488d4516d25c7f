/**
 * One mistake at a time, of those that a webhook would have refused had there been one: nothing that is rendered from it
 * is refused by Envoy, so nobody else pays for it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio, smallMesh } from "../render/objects.ts";
import { renderProxy } from "../render/offline.ts";
import { createStaticSecrets } from "../render/static-secrets.ts";
import { lacks } from "../require.ts";
import { bootstrapOf, inlineClusters, inlineListeners } from "./inline.ts";
import type { Json } from "./json.ts";
import { validate } from "./validate.ts";

const web = "outbound|80||web.default.svc.cluster.local";
const long = "x".repeat(300);
const policies: readonly object[] = [
  { connectionPool: { tcp: { connectTimeout: "-1s" } } },
  { connectionPool: { tcp: { connectTimeout: "0s" } } },
  { connectionPool: { tcp: { maxConnections: -5 } } },
  { connectionPool: { tcp: { idleTimeout: "-1s", maxConnectionDuration: "0s" } } },
  { connectionPool: { tcp: { maxConnectionDuration: "-1s" } } },
  { connectionPool: { tcp: { tcpKeepalive: { probes: 0, time: "0s", interval: "-1s" } } } },
  { connectionPool: { http: { http2MaxRequests: -1, maxRetries: -1, http1MaxPendingRequests: -1 } } },
  { connectionPool: { http: { h2UpgradePolicy: "UPGRADE", maxConcurrentStreams: -1 } } },
  { connectionPool: { http: { h2UpgradePolicy: "UPGRADE", http2KeepAlive: { interval: "0s", timeout: "-1s" } } } },
  { connectionPool: { http: { maxRequestsPerConnection: -1, idleTimeout: "-1s" } } },
  { outlierDetection: { interval: "0s" } },
  { outlierDetection: { interval: "-1s", baseEjectionTime: "-1s" } },
  { outlierDetection: { baseEjectionTime: "0s" } },
  { outlierDetection: { maxEjectionPercent: 300 } },
  { outlierDetection: { maxEjectionPercent: -1, minHealthPercent: -7 } },
  { outlierDetection: { minHealthPercent: 101 } },
  { outlierDetection: { outlierDetectionHttpErrorCodes: [99, 700] } },
  { loadBalancer: { consistentHash: { httpHeaderName: "bad header" } } },
  { loadBalancer: { consistentHash: { httpHeaderName: "x", minimumRingSize: 99999999 } } },
  { loadBalancer: { consistentHash: { httpHeaderName: "x", ringHash: { minimumRingSize: 0 } } } },
  { loadBalancer: { consistentHash: { httpHeaderName: "x", maglev: { tableSize: 4 } } } },
  { loadBalancer: { consistentHash: { httpHeaderName: "x", maglev: { tableSize: 9999991 } } } },
  { loadBalancer: { consistentHash: { httpCookie: { name: "", ttl: "-1s" } } } },
  { loadBalancer: { consistentHash: { httpQueryParameterName: "" } } },
  { loadBalancer: { localityLbSetting: { distribute: [{ from: "///", to: { "*": 900 } }] } } },
  { loadBalancer: { localityLbSetting: { distribute: [{ from: "*", to: { "*": 0 } }] } } },
  { loadBalancer: { simple: "ROUND_ROBIN", warmup: { duration: "0s" } } },
  { loadBalancer: { simple: "ROUND_ROBIN", warmup: { duration: "1s", aggression: 0.1, minimumPercent: 400 } } },
  { loadBalancer: { simple: "ROUND_ROBIN", warmup: { duration: "1s", aggression: -3, minimumPercent: -1 } } },
  { loadBalancer: { simple: "NO_SUCH" } },
  { tls: { mode: "MUTUAL" } },
  { tls: { mode: "SIMPLE", sni: "\n", subjectAltNames: [""] } },
  { tls: { mode: "SIMPLE", sni: long } },
  { tls: { mode: "SIMPLE", caCertificates: "\0" } },
  { retryBudget: { percent: 900, minRetryConcurrency: 0 } },
  { retryBudget: { percent: -1 } },
  { portLevelSettings: [{ port: { number: 80 }, connectionPool: { tcp: { connectTimeout: "-1s" } } }] },
];
const destination = { destination: { host: "web" } };
const routes: readonly object[] = [
  { match: [{ uri: { regex: "(" } }], route: [destination] },
  { match: [{ uri: { prefix: "" } }], route: [destination] },
  { match: [{ uri: { exact: "" }, headers: { "": { exact: "x" } } }], route: [destination] },
  { match: [{ headers: { "bad header": { exact: "x" } } }], route: [destination] },
  { match: [{ headers: { x: { exact: "a\nb" } } }], route: [destination] },
  { match: [{ queryParams: { "": { exact: "x" } } }], route: [destination] },
  { match: [{ method: { regex: "[" } }], route: [destination] },
  {
    route: [
      { ...destination, weight: 0 },
      { destination: { host: "nobody" }, weight: 0 },
    ],
  },
  { route: [{ ...destination, weight: -1 }] },
  {
    route: [
      { ...destination, weight: 4294967295 },
      { ...destination, weight: 4294967295 },
    ],
  },
  { route: [{ destination: { host: "" } }] },
  { route: [{ destination: { host: "web", port: { number: 99999 }, subset: "a|b" } }] },
  { route: [destination], headers: { request: { set: { "bad header": "x" } } } },
  { route: [destination], headers: { request: { set: { x: "%NOT_A_COMMAND%" } } } },
  { route: [destination], headers: { request: { set: { x: "%REQ% %REQ()% %PROTOCOL(x)%" } } } },
  { route: [destination], headers: { response: { add: { x: "50%" } } } },
  { route: [destination], headers: { request: { set: { x: "a\r\nb" }, remove: ["", ":path", "host"] } } },
  { route: [destination], headers: { request: { set: { ":method": "x", host: "" } } } },
  { route: [destination], timeout: "-1s" },
  { route: [destination], retries: { attempts: -3 } },
  {
    route: [destination],
    retries: { attempts: 3, retryOn: "nonsense,503,x y,99999", perTryTimeout: "-1s", backoff: "-1s" },
  },
  { route: [destination], retries: { attempts: 3, backoff: "0s" } },
  { route: [destination], fault: { abort: { httpStatus: 99 } } },
  { route: [destination], fault: { abort: { httpStatus: 200, percentage: { value: 400 } } } },
  { route: [destination], fault: { abort: { grpcStatus: "NOPE", percentage: { value: -1 } } } },
  { route: [destination], fault: { delay: { percentage: { value: 400 }, fixedDelay: "0s" } } },
  { route: [destination], fault: { delay: { percentage: { value: 1e-9 }, fixedDelay: "-1s" } } },
  { redirect: { redirectCode: 200 } },
  { redirect: { uri: "a\nb", authority: "a b", port: 99999 } },
  { redirect: { derivePort: "FROM_REQUEST_PORT", scheme: "\n" } },
  { route: [destination], rewrite: { uriRegexRewrite: { match: "(", rewrite: "\\9" } } },
  { route: [destination], rewrite: { uriRegexRewrite: { match: "a", rewrite: "\\9" } } },
  { route: [destination], rewrite: { uri: "a\nb", authority: "a\nb" } },
  { route: [destination], corsPolicy: { allowOrigins: [{ regex: "[" }], maxAge: "-1us" } },
  { route: [destination], corsPolicy: { allowOrigins: [{}], allowMethods: ["\n"] } },
  { route: [destination], mirror: { host: "" }, mirrorPercentage: { value: 101 } },
  { route: [destination], mirrors: [{ destination: { host: "web" }, percentage: { value: -5 } }] },
  { directResponse: { status: 999 } },
  { directResponse: { status: 200, body: { string: "x".repeat(2_000_000) } } },
  { directResponse: { status: 99, body: { bytes: "####" } } },
  { delegate: { name: "v", namespace: "default" } },
  { match: [{}] },
  {},
];
const hosts: readonly (readonly string[])[] = [
  ["web", "*"],
  ["a..b"],
  ["*.*.x"],
  [""],
  [long],
  ["a b"],
  ["web", "WEB"],
  ["::1", "[::1]:80"],
];
const port = { number: 80, name: "http", protocol: "HTTP" };
const entries: readonly object[] = [
  { hosts: ["*"], ports: [port], resolution: "DNS" },
  { hosts: ["not a host", "1.2.3.4"], ports: [port], resolution: "DNS" },
  {
    hosts: ["a.example"],
    addresses: ["300.1.2.3/40", "10.0.0.0/99", "::/0", "10.96.0.1"],
    ports: [{ ...port, protocol: "TCP" }],
  },
  {
    hosts: ["a.example"],
    ports: [port, { ...port, name: "twice", protocol: "TCP" }, { ...port, number: 0 }],
    resolution: "STATIC",
  },
  { hosts: ["a.example"], ports: [{ ...port, number: 99999 }], resolution: "DNS" },
  { hosts: ["a.example"], ports: [{ ...port, number: -1, targetPort: 99999 }], resolution: "NONE" },
  {
    hosts: ["a.example"],
    ports: [{ ...port, number: 99999, protocol: "TCP" }],
    addresses: ["10.9.9.9"],
    resolution: "STATIC",
  },
  {
    hosts: ["a.example"],
    ports: [port],
    resolution: "DNS",
    endpoints: [{ address: "bad address" }, { address: "", ports: { http: 70000 } }],
  },
  {
    hosts: ["a.example"],
    ports: [port],
    resolution: "STATIC",
    endpoints: [{ address: "name.example" }, { address: "10.1.1.1", weight: 4294967295 }],
  },
  {
    hosts: ["a.example"],
    ports: [port],
    resolution: "STATIC",
    endpoints: [{ address: "unix://relative" }, { address: "unix:///a" }],
  },
  {
    hosts: ["a.example"],
    ports: [port],
    resolution: "STATIC",
    endpoints: [{ address: "10.1.1.1", locality: "a/b/c/d/e", labels: { "": "" } }],
  },
  { hosts: [long], ports: [port], resolution: "DNS" },
  { hosts: ["*.x"], ports: [port, { number: 443, name: "tls", protocol: "TLS" }], resolution: "DYNAMIC_DNS" },
];
const sidecars: readonly object[] = [
  { egress: [{ hosts: ["*/*", "nonsense", "~/*", ""] }] },
  { egress: [{ port: { ...port, protocol: "NOPE" }, bind: "not an address", hosts: ["./*"] }] },
  { egress: [{ port: { ...port, number: 0 }, bind: "unix://relative", hosts: ["./*"] }] },
  { egress: [{ port: { ...port, number: 99999 }, hosts: ["./*"] }] },
  { egress: [{ port: { ...port, number: 15001 }, captureMode: "NONE", hosts: ["./*"] }] },
  { ingress: [{ port: { ...port, number: 9000 }, defaultEndpoint: "nowhere" }] },
  { ingress: [{ port: { ...port, number: 9000 }, defaultEndpoint: "127.0.0.1:99999" }] },
  { ingress: [{ port: { ...port, number: 15006 }, defaultEndpoint: "127.0.0.1:1" }] },
  { ingress: [{ port: { ...port, number: 99999 }, defaultEndpoint: "127.0.0.1:1" }] },
  { ingress: [{ port: { ...port, number: 9000 }, bind: "a b", captureMode: "NONE", defaultEndpoint: "unix:///x" }] },
  { ingress: [{ port: { ...port, number: 9000 } }, { port: { ...port, number: 9000, protocol: "TCP" } }] },
  {
    ingress: [
      { port: { ...port, number: 9000, protocol: "HTTPS" }, tls: { mode: "SIMPLE" }, defaultEndpoint: "127.0.0.1:1" },
    ],
  },
  { inboundConnectionPool: { http: { idleTimeout: "-1s" }, tcp: { connectTimeout: "0s", maxConnections: -1 } } },
];
const tls = (settings: object, protocol = "HTTPS") => ({
  port: { ...port, number: 443, protocol },
  hosts: ["a.example"],
  tls: settings,
});
const servers: readonly object[] = [
  { port: { ...port, number: -1 }, hosts: [""] },
  { port: { ...port, number: 99999 }, hosts: ["*"] },
  { port: { ...port, protocol: "NOPE" }, hosts: ["a/b/c", "*/", "/x", "*.*"] },
  { port, hosts: ["*"], bind: "a b" },
  tls({ mode: "SIMPLE" }),
  tls({ mode: "SIMPLE", serverCertificate: "/c", privateKey: "" }),
  tls({ mode: "SIMPLE", credentialName: "a/b/c" }),
  tls({ mode: "MUTUAL", credentialName: "c", subjectAltNames: [""], cipherSuites: ["NOPE", ""] }),
  tls({ mode: "SIMPLE", credentialName: "c", minProtocolVersion: "TLSV1_3", maxProtocolVersion: "TLSV1_0" }),
  tls({ mode: "SIMPLE", credentialName: "c", verifyCertificateSpki: ["x"], verifyCertificateHash: ["y"] }),
  tls({ mode: "PASSTHROUGH" }),
  tls({ mode: "ISTIO_MUTUAL" }, "TLS"),
  tls({ mode: "AUTO_PASSTHROUGH" }, "TLS"),
  tls({ mode: "SIMPLE", credentialName: "c" }, "TCP"),
  { ...tls({ mode: "SIMPLE", credentialName: "c" }), hosts: ["*", "a..b", long, "a b"] },
];

const gateway = (server: object): readonly KubeObject[] => [
  istio("Gateway", "edge", { selector: { app: "client" }, servers: [server] }),
  istio("VirtualService", "edge", {
    hosts: ["*"],
    gateways: ["edge"],
    http: [{ route: [destination] }],
    tls: [{ match: [{ sniHosts: ["a.example"] }], route: [destination] }],
    tcp: [{ route: [destination] }],
  }),
];

const cases: readonly (readonly [string, "sidecar" | "router", readonly KubeObject[]])[] = [
  ...policies.map(
    (trafficPolicy) =>
      [
        `DestinationRule ${JSON.stringify(trafficPolicy)}`,
        "sidecar" as const,
        [
          istio("DestinationRule", "web", {
            host: "web",
            trafficPolicy,
            subsets: [{ name: "a|b" }, { name: "" }, { name: "v", labels: { "": "" } }],
          }),
        ],
      ] as const,
  ),
  ...routes.map(
    (route) =>
      [
        `VirtualService ${JSON.stringify(route)}`,
        "sidecar",
        [istio("VirtualService", "v", { hosts: ["web"], http: [route] })],
      ] as const,
  ),
  ...hosts.map(
    (names) =>
      [
        `VirtualService for ${names}`,
        "sidecar",
        [istio("VirtualService", "v", { hosts: names, http: [{ route: [destination] }] })],
      ] as const,
  ),
  ...entries.map(
    (spec) => [`ServiceEntry ${JSON.stringify(spec)}`, "sidecar", [istio("ServiceEntry", "e", { ...spec })]] as const,
  ),
  ...sidecars.map(
    (spec) => [`Sidecar ${JSON.stringify(spec)}`, "sidecar", [istio("Sidecar", "s", { ...spec })]] as const,
  ),
  ...servers.map((server) => [`Gateway ${JSON.stringify(server)}`, "router", gateway(server)] as const),
];

describe.skipIf(lacks("envoy"))("a stock Envoy takes what is left of", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-mistakes-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  let withSecrets: (json: Json) => Json;
  beforeAll(async () => {
    withSecrets = await createStaticSecrets();
  });

  test.each(cases.map(([name, ...rest]) => [name.slice(0, 200), ...rest] as const))("%s", async (_, type, objects) => {
    const rendered = await renderProxy({ objects: [...smallMesh("http", type), ...objects], profile: "envoy" });
    const list = (resources: ReadonlyMap<string, Json>): readonly Json[] => [...resources.values()];
    const files = {
      clusters: list(rendered.clusters),
      listeners: list(rendered.listeners),
      routes: list(rendered.routes),
      endpoints: list(rendered.endpoints),
      ecds: [],
    };
    const bootstrap = bootstrapOf(withSecrets(inlineClusters(files)), withSecrets(inlineListeners(files)));
    expect(await validate(dir, bootstrap)).toBeUndefined();
    expect(rendered.clusters.has(objects[0]?.kind === "Sidecar" ? "BlackHoleCluster" : web)).toBe(true);
  });
});
