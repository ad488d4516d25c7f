/** A field's type and name in; a few values that mean something in the small mesh out, each different from the others. */
import { createSelfSignedBundle } from "../../src/ca/index.ts";
import type { Schema } from "../../src/model/index.ts";
import { formatBundle } from "../../src/pki/index.ts";

const root = async (organization: string): Promise<string> =>
  formatBundle((await createSelfSignedBundle({ organization, now: new Date() })).roots);

/** What fields of these names mean, wherever they stand; others get any value of their type. */
const words: Readonly<Record<string, readonly unknown[]>> = {
  host: ["a.red.svc.cluster.local", "b.green.svc.cluster.local", "api.example.com"],
  hosts: [["a.red.svc.cluster.local"], ["b.green.svc.cluster.local"], ["shop.example.com"], ["./*"], ["*/*"]],
  service: ["a.red.svc.cluster.local", "b.green.svc.cluster.local"],
  address: ["10.0.7.1", "one.example.com", "a.red:80", "b.green:80"],
  discoveryAddress: ["one.red.svc:15012", "two.red.svc:15012"],
  statsdUdpAddress: ["10.0.9.1:8125", "10.0.9.2:8125"],
  http2InitialStreamWindowSize: [65_536, 131_072],
  http2InitialConnectionWindowSize: [65_536, 131_072],
  addresses: [["240.1.0.1"], ["240.1.0.2"]],
  subset: ["v1", "v2"],
  number: [80, 9000, 8080],
  port: [80, 9000, 7070],
  portNumber: [80, 9000, 8080],
  targetPort: [8081, 8082],
  namespace: ["red", "green"],
  exportTo: [["."], ["*"], ["green"]],
  defaultDestinationRuleExportTo: [["."], ["*"]],
  gateways: [["mesh"], ["istio-system/gw"]],
  credentialName: ["cert1", "cert2"],
  protocol: ["HTTP", "TCP", "TLS", "CONNECT", "POST"],
  labels: [{ app: "a" }, { app: "none" }, { version: "v1" }],
  matchLabels: [{ app: "a" }, { app: "none" }, { version: "v1" }, { istio: "ingress" }, { team: "x" }],
  sourceLabels: [{ app: "a" }, { app: "b" }],
  sourceNamespace: ["red", "green"],
  destinationSubnets: [["10.96.0.0/24"], ["10.96.0.7"]],
  sniHosts: [["a.red.svc.cluster.local"], ["shop.example.com"]],
  weight: [10, 30],
  ipBlocks: [["10.1.0.0/16"]],
  notIpBlocks: [["10.1.0.0/16"]],
  remoteIpBlocks: [["10.1.0.0/16"]],
  notRemoteIpBlocks: [["10.1.0.0/16"]],
  serviceAccounts: [["red/a"]],
  notServiceAccounts: [["red/a"]],
  methods: [["GET"], ["POST"]],
  allowMethods: [["GET"], ["POST"]],
  paths: [["/x"]],
  notPaths: [["/x"]],
  ports: [["80"], { http: 1024 }],
  notPorts: [["80"]],
  status: [503, 429],
  httpStatus: [503, 429],
  grpcStatus: ["UNAVAILABLE", "INTERNAL"],
  redirectCode: [301, 308],
  tableSize: [1009, 5003],
  retryOn: ["5xx", "reset"],
  locality: ["r1/z1", "r2/z3"],
  network: ["net1"],
  bind: ["10.9.9.9", "10.9.9.8"],
  defaultEndpoint: ["127.0.0.1:8080", "0.0.0.0:9999"],
  sha256: ["a".repeat(64), "b".repeat(64)],
  jwksUri: ["https://keys.example.com/0", "https://keys.example.com/1"],
  jwks_uri: ["https://keys.example.com/0", "https://keys.example.com/1"],
  cipherSuites: [["ECDHE-RSA-AES128-GCM-SHA256"], ["ECDHE-ECDSA-AES256-GCM-SHA384"]],
  ecdhCurves: [["P-256"], ["P-384"]],
  failoverPriority: [["topology.kubernetes.io/region"], ["version"]],
  metadata: [{ GENERATOR: "x" }],
  proxyVersion: ["^1\\.2.*", "^9.*"],
  expression: ["response.code >= 400", "response.code >= 500"],
  statusOnError: ["503", "429"],
  trustDomain: ["other.domain"],
  rootNamespace: ["red"],
  clusterLocal: [true],
  pem: [await root("one"), await root("two")],
  spiffeBundleUrl: ["https://one.example.com", "https://two.example.com"],
  url: ["oci://example.com/a:1", "https://example.com/b.wasm"],
  tracing: [["zipkin"], ["otel"]],
  metrics: [["prometheus"]],
  accessLogging: [["envoy"], ["otel-log"]],
  verifyCertificateSpki: [[`${"A".repeat(43)}=`]],
  verifyCertificateHash: [["ab".repeat(32)]],
  targetHost: ["t.example.com", "u.example.com"],
  grpc: ["UNAVAILABLE"],
  uri: ["/x", "/y"],
  prefix: ["/x", "/y"],
  exact: ["/x", "/y"],
  path: ["/x", "/y"],
  key: ["source.ip", "request.headers[x-a]", "team"],
  from: ["r1", "r2", "r3", "r1/z1/*"],
  to: ["r2", "r3", { "r1/*": 80, "r2/*": 20 }, { "r1/*": 50, "r2/*": 50 }],
  kind: ["Gateway", "Service", "GatewayClass"],
  group: ["gateway.networking.k8s.io", ""],
};

export function valuesOf(schema: Schema, name: string): readonly unknown[] {
  const fitting = (words[name] ?? []).filter((word) => fits(schema, word));
  return fitting.length > 0 ? fitting : plainValues(schema);
}

function fits(schema: Schema, word: unknown): boolean {
  if (schema.type === "array") return Array.isArray(word) && word.every((item) => fits(schema.items, item));
  if (schema.type === "map")
    return (
      typeof word === "object" &&
      word !== null &&
      !Array.isArray(word) &&
      Object.values(word).every((item) => fits(schema.values, item))
    );
  if (schema.type === "string") return typeof word === "string" && (!schema.enum || schema.enum.includes(word));
  if (schema.type === "any") return typeof word === "object" && !Array.isArray(word);
  return schema.type === "integer" && typeof word === "number";
}

function plainValues(schema: Schema): readonly unknown[] {
  switch (schema.type) {
    case "string":
      if (schema.enum) return schema.enum;
      if (schema.meaning === "duration") return ["3s", "5s"];
      return schema.meaning === "bytes" ? ["eA==", "eQ=="] : ["x", "y"];
    case "integer":
      return schema.allowed ?? [7, 30, 400].filter((value) => value >= (schema.minimum ?? 0));
    case "number":
      return [7, 30];
    case "boolean":
      return [true, false];
    case "int-or-string":
      return [7, 30];
    case "any":
      return [{ x: 1 }, { x: 2 }];
    case "array":
      return valuesOf(schema.items, "").map((value) => [value]);
    case "map":
      return valuesOf(schema.values, "").map((value) => ({ [schema.keys === "uint32" ? "8080" : "app"]: value }));
    default:
      return [];
  }
}
