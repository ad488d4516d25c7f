import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { recordedCases } from "../../../test/conformance/corpus.ts";
import { findEnvoy, lacks } from "../../../test/require.ts";
import { isRecord, parseJson, silentLogger } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";
import { buildBootstrap } from "./bootstrap.ts";
import type { BootstrapOptions } from "./context.ts";
import type { JsonObject } from "./json.ts";
import { buildNode, type NodeOptions, parseDownwardApi } from "./node.ts";
import { loadProxyConfig } from "./proxy-config.ts";
import { inOurForm, parseTextProto } from "./testing.ts";

interface Case {
  readonly nodeID: string;
  readonly instanceIPs: readonly string[];
  readonly pilotSubjectAltNames: readonly string[];
  readonly outlierLogPath: string;
  readonly envoyPrometheusPort: number;
  readonly envoyStatusPort: number;
  readonly workloadIdentitySocketFile: string;
  readonly binaryVersion: string;
  readonly statusPortDefault: number;
  readonly configPath: string;
  readonly env: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly proxyMetadata: Readonly<Record<string, string>>;
  readonly compliancePolicy: string;
  readonly secureMetricsPort: number;
  readonly secureMergedMetricsPort: number;
}

const minimal: NodeOptions = {
  id: "sidecar~10.0.0.1~pod.ns~ns.svc.cluster.local",
  env: {},
  addresses: ["10.0.0.1"],
  proxyConfig: {},
  controlPlaneNames: ["istiod.istio-system.svc"],
  outlierLogPath: "",
  statusPort: 15021,
  prometheusPort: 15090,
  secureMetricsPort: 0,
  secureMergedMetricsPort: 0,
  identitySocketFile: "socket",
  istioVersion: "1.0",
  exitOnZeroActiveConnections: false,
  skipDeprecatedLogs: false,
  metadataDiscovery: undefined,
  log: silentLogger,
};

function build(node: Partial<NodeOptions>, more: Partial<BootstrapOptions> = {}): JsonObject {
  const options = { ...minimal, ...node };
  return buildBootstrap({
    node: buildNode(options),
    proxyConfig: options.proxyConfig,
    addresses: options.addresses,
    sdsSocket: `./var/run/secrets/workload-spiffe-uds/${options.identitySocketFile}`,
    xdsSocket: "/tmp/XDS",
    adminSocket: "/tmp/ADMIN",
    readinessSocket: "/tmp/READY",
    mergedMetricsSocket: "/tmp/METRICS",
    compliancePolicy: "",
    dualStack: false,
    logAsJson: false,
    deltaXds: true,
    statusProxyProtocol: false,
    stripFragment: true,
    hostIp: "",
    log: silentLogger,
    ...more,
  });
}

const recorded = recordedCases("bootstrap", "settings.json").map(({ name, dir }) => [name, dir] as const);

/** Our own cases have it as people write it, Istio's as a text of protobuf. */
function readProxyConfig(dir: string): ProxyConfigValues {
  const [json, proto] = [join(dir, "proxyconfig.json"), join(dir, "proxyconfig.textproto")];
  const value = existsSync(json) ? parseJson(readFileSync(json, "utf8")) : parseTextProto(readFileSync(proto, "utf8"));
  return value as ProxyConfigValues;
}

function buildCase(dir: string): JsonObject {
  const settings = parseJson(readFileSync(join(dir, "settings.json"), "utf8")) as Case;
  const written = readProxyConfig(dir);
  const proxyConfig: ProxyConfigValues = {
    statusPort: settings.statusPortDefault,
    ...written,
    configPath: settings.configPath,
    customConfigFile: "envoy_bootstrap.json",
    proxyMetadata: settings.proxyMetadata,
  };
  const node = {
    id: settings.nodeID,
    env: { ISTIO_METAJSON_ANNOTATIONS: JSON.stringify(settings.annotations), ...settings.env },
    addresses: settings.instanceIPs,
    proxyConfig,
    podAnnotations: settings.annotations,
    controlPlaneNames: settings.pilotSubjectAltNames,
    outlierLogPath: settings.outlierLogPath,
    statusPort: settings.envoyStatusPort,
    prometheusPort: settings.envoyPrometheusPort,
    secureMetricsPort: settings.secureMetricsPort,
    secureMergedMetricsPort: settings.secureMergedMetricsPort,
    identitySocketFile: settings.workloadIdentitySocketFile,
    istioVersion: settings.binaryVersion,
  };
  return build(node, { compliancePolicy: settings.compliancePolicy });
}

describe("the bootstrap equals Istio's, but for what decision 23 says", () => {
  /** The token's path is fixed by the corpus, and one golden was recorded under another case's config path. */
  const comparable = (text: string): unknown =>
    parseJson(
      text
        .replace(/"[^"]*\/lightstep_access_token.txt"/, '"lightstep_access_token.txt"')
        .replace(/"configPath": ?"\/tmp\/bootstrap\/\w+"/, '"configPath":"/tmp/bootstrap/case"'),
    );
  test.each(recorded)("%s", (_, dir) => {
    const expected = readFileSync(join(dir, "expected.json"), "utf8");
    expect(comparable(JSON.stringify(inOurForm(parseJson(expected) as JsonObject)))).toEqual(
      comparable(JSON.stringify(buildCase(dir))),
    );
  });
});

/** Names that the corpus has and the stock build lacks. */
const notStock = new Set(["ambient", "tracing_lightstep"]);

describe.skipIf(lacks("envoy"))(
  "stock Envoy accepts the bootstrap",
  () => {
    const validate = (bootstrap: JsonObject): string => {
      const dir = mkdtempSync(join(tmpdir(), "fairlead-bootstrap-"));
      try {
        const file = join(dir, "envoy.json");
        writeFileSync(file, JSON.stringify(bootstrap));
        // A file, because Envoy opens /dev/stdout anew, and that cannot be done with the sockets Node makes.
        const output = openSync(join(dir, "log"), "a");
        const args = ["--mode", "validate", "-c", file, "-l", "error"];
        const run = spawnSync(findEnvoy() ?? "envoy", args, { stdio: ["ignore", output, output] });
        closeSync(output);
        return run.status === 0 ? "OK" : readFileSync(join(dir, "log"), "utf8");
      } finally {
        rmSync(dir, { recursive: true });
      }
    };
    const full: Partial<NodeOptions> = {
      proxyConfig: loadProxyConfig({ annotations: {} }),
      secureMetricsPort: 15091,
      secureMergedMetricsPort: 15092,
    };
    test("with the defaults and all listeners", () => expect(validate(build(full))).toBe("OK"));
    test("with two address families, PROXY protocol and self-discovery", () => {
      const node = { ...full, addresses: ["fd00::1", "10.0.0.1"], env: { ISTIO_META_ENABLE_SELF_DISCOVERY: "1" } };
      expect(validate(build(node, { dualStack: true, statusProxyProtocol: true, logAsJson: true }))).toBe("OK");
    });
    test.each(recorded.filter(([name]) => !notStock.has(name)).slice(0, 40))("case %s", (_, dir) =>
      expect(validate(buildCase(dir))).toBe("OK"),
    );
  },
  120_000,
);

describe("the node", () => {
  const nodeOf = (options: Partial<NodeOptions>) => buildNode({ ...minimal, ...options });

  test("labels of the Pod go over static ones, without the template hash", () => {
    const node = nodeOf({
      env: { ISTIO_METAJSON_LABELS: '{"a":"1","b":"2"}', POD_NAME: "p", POD_NAMESPACE: "ns", SERVICE_ACCOUNT: "sa" },
      podLabels: { b: "3", "pod-template-hash": "x", "topology.istio.io/locality": "r.z" },
    });
    expect(node.labels).toEqual({ a: "1", b: "3", "topology.istio.io/locality": "r.z", "istio-locality": "r/z" });
    expect(node.metadata).toMatchObject({
      NAME: "p",
      NAMESPACE: "ns",
      SERVICE_ACCOUNT: "sa",
      STATIC_LABELS: { a: "1", b: "2" },
    });
    expect(node.locality).toEqual({ region: "r", zone: "z", subZone: "" });
  });

  test("the environment beats proxyMetadata, and booleans are made plain", () => {
    const node = nodeOf({
      env: { ISTIO_META_CLUSTER_ID: "env", ISTIO_META_DNS_CAPTURE: "1", ISTIO_META_DNS_AUTO_ALLOCATE: "false" },
      proxyConfig: { proxyMetadata: { ISTIO_META_CLUSTER_ID: "config", ISTIO_META_NETWORK: "n1", OTHER: "x" } },
    });
    expect(node.metadata).toMatchObject({
      CLUSTER_ID: "env",
      NETWORK: "n1",
      DNS_CAPTURE: "true",
      DNS_AUTO_ALLOCATE: "false",
    });
    expect(node.metadata).not.toHaveProperty("OTHER");
    expect(() => nodeOf({ env: { ISTIO_META_DNS_CAPTURE: "perhaps" } })).toThrow("ISTIO_META_DNS_CAPTURE");
  });

  test("the downward API's files are read as Kubernetes writes them", () => {
    expect(parseDownwardApi('a="x"\nconfig="foo: bar\\nother: \\"s\\""\nb="a=b"\nbroken\n')).toEqual({
      a: "x",
      config: 'foo: bar\nother: "s"',
      b: "a=b",
    });
    const odd = '__proto__="x"\na="1"\na="2"\nb="\\UFFFFFFFF"\nc="\\U0001F600\\x41\\a"\n';
    expect(Object.entries(parseDownwardApi(odd))).toEqual([
      ["__proto__", "x"],
      ["a", "2"],
      ["c", "😀A\u0007"],
    ]);
    // A backslash that is written as two begins no escape.
    expect(parseDownwardApi('a="C:\\\\x41\\\\new"\nb="\\q"\nc="a"b"\nd="\\"\ne="\\u00e9"\nf="\n')).toEqual({
      a: "C:\\x41\\new",
      e: "é",
    });
  });

  test.each([
    [{ serviceCluster: "istio-proxy" }, { app: "a" }, "a.ns"],
    [{ serviceCluster: "mine" }, { app: "a" }, "mine"],
    [{ tracingServiceName: "CANONICAL_NAME_ONLY" }, { app: "a", "service.istio.io/canonical-name": "c" }, "c"],
    [{ tracingServiceName: "CANONICAL_NAME_AND_NAMESPACE" }, {}, "w.ns"],
    [{}, {}, "w.ns"],
  ] as const)("%j with labels %j calls itself %s", (proxyConfig, labels, cluster) => {
    const bootstrap = build({
      proxyConfig,
      env: { ISTIO_METAJSON_LABELS: JSON.stringify(labels), POD_NAMESPACE: "ns", ISTIO_META_WORKLOAD_NAME: "w" },
    });
    expect(isRecord(bootstrap.node) && bootstrap.node.cluster).toBe(cluster);
  });
});

describe("proxy settings", () => {
  test("come from mesh file, environment and annotation, the later over the earlier", () => {
    const config = loadProxyConfig({
      meshFile: "defaultConfig:\n  discoveryAddress: a:15012\n  drainDuration: 1s\n  proxyMetadata: {A: '1'}\n",
      env: '{"drainDuration":"2s","proxyMetadata":{"B":"2"}}',
      annotations: { "proxy.istio.io/config": "concurrency: 3\n", "status.sidecar.istio.io/port": "15029" },
      cpuLimit: 8,
    });
    expect(config).toMatchObject({
      discoveryAddress: "a:15012",
      drainDuration: "2s",
      proxyMetadata: { A: "1", B: "2" },
      concurrency: 3,
      statusPort: 15029,
    });
    expect(loadProxyConfig({ annotations: {}, cpuLimit: 8 }).concurrency).toBe(8);
  });

  test("R25: whatever an annotation holds stays a value", () => {
    const evil = 'x"},"admin":{"a":"b\n{{ .evil }}---';
    const bootstrap = build({ podAnnotations: { "sidecar.istio.io/extraStatTags": evil } });
    expect(Object.keys(bootstrap)).toEqual(Object.keys(build({})));
  });
});
