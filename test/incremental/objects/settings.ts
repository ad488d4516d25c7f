/** A seed's choices in; ConfigMap istio-system/istio with a MeshConfig out. */
import type { KubeObject } from "../../../src/model/index.ts";
import type { Random } from "../../random.ts";
import { spicedSettings } from "../spice.ts";
import { object, rootNamespace, type Spec, seconds, some, yes } from "../words.ts";
import { localitySetting } from "./traffic.ts";

const providers: readonly Spec[] = [
  { name: "authz", envoyExtAuthzGrpc: { service: "a.red.svc.cluster.local", port: 7070 } },
  {
    name: "file-log",
    envoyFileAccessLog: { logFormat: { labels: { a: "%PROTOCOL%", b: { d: "%DURATION%", c: "%REQ(X)%" } } } },
  },
  { name: "otel-log", envoyOtelAls: { service: "b.red.svc.cluster.local", port: 80 } },
  { name: "zipkin", zipkin: { service: "c.green.svc.cluster.local", port: 9000 } },
  { name: "otel", opentelemetry: { service: "d.blue.svc.cluster.local", port: 80 } },
];

/** Each of the fields that rendering reads, alone likely enough to be met. */
const fields: readonly ((random: Random) => Spec)[] = [
  (random) => ({ outboundTrafficPolicy: { mode: random.pick(["REGISTRY_ONLY", "ALLOW_ANY"]) } }),
  (random) => ({ inboundTrafficPolicy: { mode: random.pick(["PASSTHROUGH", "LOCALHOST"]) } }),
  (random) => ({ accessLogFile: random.pick(["/dev/stdout", ""]) }),
  () => ({ accessLogFile: "/dev/stdout", accessLogEncoding: "JSON" }),
  () => ({ accessLogFile: "/dev/stdout", accessLogFormat: "[%START_TIME%] x\n" }),
  () => ({ enableEnvoyAccessLogService: true }),
  () => ({ disableEnvoyListenerLog: true, accessLogFile: "/dev/stdout" }),
  (random) => ({ proxyListenPort: random.pick([15001, 15101]) }),
  (random) => ({ proxyInboundListenPort: random.pick([15006, 15106]) }),
  (random) => ({ proxyHttpPort: random.pick([15007, 0]) }),
  (random) => ({ connectTimeout: seconds(random) }),
  (random) => ({ protocolDetectionTimeout: seconds(random) }),
  () => ({ tcpKeepalive: { probes: 3, time: "5s", interval: "5s" } }),
  (random) => ({ trustDomain: random.pick(["cluster.local", "other.domain"]) }),
  () => ({ trustDomainAliases: ["old.domain"] }),
  (random) => ({ localityLbSetting: localitySetting(random) }),
  () => ({ localityLbSetting: null }),
  (random) => ({
    discoverySelectors: [
      { matchLabels: random.pick([{ "istio-injection": "enabled" }, { team: "x" }, { "istio.io/rev": "canary" }]) },
    ],
  }),
  (random) => ({ defaultServiceExportTo: random.pick([["."], ["*"], ["~"], ["red"]]) }),
  (random) => ({ defaultVirtualServiceExportTo: random.pick([["."], ["*"], ["green"]]) }),
  (random) => ({ defaultDestinationRuleExportTo: random.pick([["."], ["*"], ["blue"]]) }),
  (random) => ({ rootNamespace: random.pick(["istio-system", "red"]) }),
  (random) => ({ dnsRefreshRate: seconds(random) }),
  () => ({ h2UpgradePolicy: "UPGRADE" }),
  () => ({ inboundClusterStatName: "%SERVICE%_%SERVICE_PORT%" }),
  () => ({ outboundClusterStatName: "%SERVICE_FQDN%_%SUBSET_NAME%" }),
  () => ({ serviceSettings: [{ settings: { clusterLocal: true }, hosts: ["a.red.svc.cluster.local"] }] }),
  (random) => ({ enableAutoMtls: random.chance(0.5) }),
  (random) => ({ enablePrometheusMerge: random.chance(0.5) }),
  () => ({ verifyCertificateAtClient: true }),
  (random) => ({ extensionProviders: some(random, providers, 1, 4) }),
  (random) => ({
    extensionProviders: providers,
    defaultProviders: {
      tracing: some(random, ["zipkin", "otel"], 0, 1),
      metrics: ["prometheus"],
      accessLogging: some(random, ["envoy", "otel-log", "file-log"], 0, 2),
    },
  }),
  () => ({ defaultProviders: { metrics: ["prometheus"] } }),
  (random) => ({ pathNormalization: { normalization: random.pick(["NONE", "BASE", "MERGE_SLASHES"]) } }),
  (random) => ({ defaultHttpRetryPolicy: { attempts: random.whole(4) } }),
  (random) => ({ meshMTLS: { minProtocolVersion: random.pick(["TLSV1_2", "TLSV1_3"]) } }),
  () => ({ tlsDefaults: { minProtocolVersion: "TLSV1_3", ecdhCurves: ["P-256"] } }),
  (random) => ({ defaultTrafficPolicy: { outlierDetection: { consecutive5xxErrors: 1 + random.whole(4) } } }),
  (random) => ({ ingressControllerMode: random.pick(["OFF", "DEFAULT", "STRICT"]) }),
  () => ({ ingressSelector: "other" }),
  (random) => ({ enableTracing: random.chance(0.5) }),
  (random) => ({
    defaultConfig: random.pick<Spec>([
      { discoveryAddress: "x:15012" },
      { tracing: { sampling: 10, zipkin: { address: "zipkin.red:9411" } } },
      { proxyHeaders: { server: { disabled: true }, requestId: { disabled: true } } },
      { holdApplicationUntilProxyStarts: true, statusPort: 15099 },
      { proxyMetadata: { ISTIO_META_DNS_CAPTURE: "true" } },
      { gatewayTopology: { numTrustedProxies: 1 + random.whole(3) } },
      { concurrency: 3, drainDuration: "9s" },
    ]),
  }),
];

export function meshConfig(random: Random): KubeObject {
  const chosen = some(random, fields, 0, 12).map((field) => field(random));
  const written: Spec = Object.assign({}, ...chosen);
  const mesh = random.chance(0.5) ? spicedSettings(random, written) : written;
  return object("v1", "ConfigMap", "istio", rootNamespace, {
    metadata: { labels: yes(random, 0.1, () => ({ touched: "yes" })) },
    data: {
      mesh: JSON.stringify(mesh),
      ...yes(random, 0.3, () => ({ meshNetworks: JSON.stringify(networks(random)) })),
    },
  });
}

const networks = (random: Random): Spec => ({
  networks: {
    net1: {
      endpoints: [random.pick<Spec>([{ fromRegistry: "Kubernetes" }, { fromCidr: "10.0.0.0/16" }])],
      gateways: [
        random.pick<Spec>([
          { registryServiceName: "a.red.svc.cluster.local", port: 15443 },
          { address: "203.0.113.9", port: 15443 },
        ]),
      ],
    },
  },
});

/** What the network would give: read by the world in place of fetching. */
export function keySets(random: Random): KubeObject {
  const key = { kty: "oct", kid: `${random.whole(3)}`, k: "AA" };
  const uris = some(random, ["https://keys.example.com/0", "https://keys.example.com/1"], 0, 2);
  const data = Object.fromEntries(uris.map((uri) => [uri, JSON.stringify({ keys: [key] })]));
  return object("v1", "ConfigMap", "key-sets", rootNamespace, { data });
}

/** Who the API would let read no Secrets: read by the world in place of asking. */
export function secretAccess(random: Random): KubeObject {
  const accounts = some(random, ["default", "a", "b"], 0, 2).map((account) => [account, "no"]);
  return object("v1", "ConfigMap", "secret-access", rootNamespace, { data: Object.fromEntries(accounts) });
}
