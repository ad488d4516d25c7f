/** Targets that read bytes: DER, PEM, DNS, frames of gRPC, protobuf. */
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { encode as encodeDns } from "dns-packet";
import { encodeReply, parseQuery, udpSize } from "../../../src/agent/dns/message.ts";
import { createRequestCounter } from "../../../src/agent/telemetry/request-counter.ts";
import { createTaps } from "../../../src/agent/telemetry/tap.ts";
import { exportRequest, line } from "../../../src/agent/telemetry/testing.ts";
import { createWorkloadTable } from "../../../src/agent/telemetry/workload-table.ts";
import { readRemoteWasm } from "../../../src/agent/wasm/extension-config.ts";
import { answeringModule, tar } from "../../../src/agent/wasm/testing.ts";
import { fileOfLayer, unpackModule } from "../../../src/agent/wasm/unpack.ts";
import { coreKinds } from "../../../src/apiserver/core-kinds.ts";
import { createDefinitions } from "../../../src/apiserver/definitions.ts";
import { parseProtobuf } from "../../../src/apiserver/protobuf-body.ts";
import { bindingOf } from "../../../src/ca/binding.ts";
import { createSelfSignedBundle } from "../../../src/ca/index.ts";
import { TypedExtensionConfigSchema } from "../../../src/gen/envoy/config/core/v3/extension_pb.js";
import { WasmSchema } from "../../../src/gen/envoy/extensions/filters/http/wasm/v3/wasm_pb.js";
import { Edge_Side, FromAgentSchema, TapSchema, TrafficService } from "../../../src/gen/fairlead/traffic_pb.js";
import { checkDer } from "../../../src/pki/der.ts";
import {
  createCsr,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  parseCertificates,
  parseCsr,
  parsePrivateKey,
  uriNames,
} from "../../../src/pki/index.ts";
import { formatPem, parsePem } from "../../../src/pki/pem.ts";
import { messageChunks, readMessages } from "../../../src/rpc/frame.ts";
import { protoMethod } from "../../../src/rpc/index.ts";
import { createTapHub, createTrafficStore, summarize } from "../../../src/traffic/index.ts";
import { readEdge } from "../../../src/traffic/read-edge.ts";
import { mutateBytes, mutateText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
const field = (number: number, value: Buffer | string): Buffer => {
  const data = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, data.length]), data]);
};

export async function byteTargets(): Promise<readonly Target[]> {
  const key = await generateKey();
  const [csr, rsa] = [createCsr({ key }), createCsr({ key: await generateKey("rsa-2048") })];
  const bundle = await createSelfSignedBundle({ organization: "o", now: new Date(0) });
  const root = bundle.roots[0];
  const certificate = root ? formatCertificate(root) : "";
  const keyPem = formatPrivateKey(key.privateKey);
  const reads = (
    name: string,
    examples: readonly Uint8Array[],
    run: (bytes: Buffer) => unknown,
    more: Partial<Target> = {},
  ): Target => ({
    ...target({ name, input: (random) => mutateBytes(random, examples), run }),
    ...more,
  });
  return [
    reads("der", [derOf(csr), derOf(certificate)], (bytes) => checkDer(bytes)),
    reads("csr", [derOf(csr), derOf(rsa)], (bytes) => typeof parseCsr(formatPem("CERTIFICATE REQUEST", bytes))),
    reads("certificates", [derOf(certificate)], (bytes) =>
      parseCertificates(formatPem("CERTIFICATE", bytes)).map((one) => [uriNames(one), bindingOf(one)]),
    ),
    reads("private keys", [derOf(keyPem)], (bytes) => typeof parsePrivateKey(formatPem("PRIVATE KEY", bytes))),
    target({
      name: "pem",
      input: (random) =>
        mutateText(random, [csr, certificate + keyPem], ["-----", "BEGIN ", "END ", "\n", "=", "CERTIFICATE", "\r\n"]),
      run: (text) => parsePem(text).map(({ label }) => label),
    }),
    reads("dns", dnsExamples(), (bytes) => {
      const query = parseQuery(bytes);
      if (!query) return "";
      const answers = [{ type: "A" as const, name: query.name || ".", ttl: 5, data: "10.0.0.1" }];
      return encodeReply(query, { code: "ok", answers }, udpSize(query));
    }),
    reads(
      "grpc frames",
      [Buffer.concat([...messageChunks([Buffer.from("hello")]), ...messageChunks([Buffer.alloc(40, 7)])])],
      async (bytes) => {
        const pieces =
          bytes.length === 0 ? [] : [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)];
        const sizes: number[] = [];
        async function* chunks(): AsyncGenerator<Uint8Array> {
          yield* pieces;
        }
        for await (const message of readMessages(chunks(), { maxBytes: 1000, encoding: "gzip" }))
          sizes.push(message.length);
        return sizes;
      },
    ),
    reads("metrics lines", metricsExamples(), (bytes) => {
      const table = createWorkloadTable({ monotonicMs: () => 0 });
      const own = {
        name: "a",
        namespace: "b",
        cluster: "c",
        canonicalService: "d",
        canonicalRevision: "e",
        app: "f",
        version: "g",
      };
      const taps = createTaps({ own, table, monotonicMs: () => 0, now: () => new Date(0) });
      taps.order(create(TapSchema, { id: 1, forMs: 1000, perSecond: 50 }));
      const counter = createRequestCounter({ own, table, taps, monotonicMs: () => 0 });
      counter.take(bytes);
      return [[...counter.metrics()].join("").length, taps.drain().length];
    }),
    reads("traffic reports", [trafficReport(), tappedRequest()], trafficOf),
    reads("wasm archives", wasmExamples(), async (bytes) => {
      const found = await unpackModule(bytes, 64 * 1024);
      return [found.length, (await fileOfLayer(bytes, "plugin.wasm", 64 * 1024)).length];
    }),
    reads("wasm extensions", [wasmExtension()], (bytes) => {
      const wasm = extensionOf(bytes);
      return wasm && [wasm.url, wasm.withFile("/x").length, wasm.standIn().length];
    }),
    protobufBodies(),
  ];
}

/** Protobuf's own errors say that Envoy is to judge. */
function extensionOf(bytes: Uint8Array) {
  try {
    return readRemoteWasm(bytes);
  } catch {
    return undefined;
  }
}

function wasmExamples(): readonly Uint8Array[] {
  const files = tar({ "a/b.txt": Buffer.from("x"), "plugin.wasm": answeringModule(418) });
  return [files, gzipSync(files), answeringModule(418)];
}

function wasmExtension(): Uint8Array {
  const uri = { uri: "oci://r.example/x:1", httpUpstreamType: { case: "cluster" as const, value: "_" } };
  const remote = { specifier: { case: "remote" as const, value: { httpUri: uri, sha256: "nil" } } };
  const keyValues = { ISTIO_META_WASM_IMAGE_PULL_SECRET: "{}", A: "b" };
  const vm = { case: "vmConfig" as const, value: { code: remote, environmentVariables: { keyValues } } };
  const typedConfig = anyPack(WasmSchema, create(WasmSchema, { config: { name: "p", vm } }));
  return toBinary(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name: "x", typedConfig }));
}

const trafficEdge = {
  side: Edge_Side.SOURCE,
  peer: { namespace: "shop", workload: "back-v1", app: "back", version: "v1" },
  service: { host: "back.shop.svc.cluster.local", name: "back", namespace: "shop" },
};

function trafficReport(): Uint8Array {
  const edges = [{ ...trafficEdge, counts: [9, 1, 2, 0, 0, 1, 9], flags: [{ flag: "UF", count: 1 }] }];
  const value = { sequence: 1, coveredMs: 10_000, edges };
  return toBinary(FromAgentSchema, create(FromAgentSchema, { message: { case: "report", value } }));
}

function tappedRequest(): Uint8Array {
  const requests = [{ ...trafficEdge, method: "GET", path: "/a", status: 200, headers: { "user-agent": "x" } }];
  return toBinary(
    FromAgentSchema,
    create(FromAgentSchema, { message: { case: "tapped", value: { id: 1, requests } } }),
  );
}

/** Through the readers into a store and a tap, as the control plane's service does it. */
async function trafficOf(bytes: Uint8Array): Promise<unknown> {
  const clocks = { now: () => new Date(0), monotonicMs: () => 0 };
  const store = createTrafficStore(clocks);
  const taps = createTapHub({ ...clocks, headers: ["user-agent"] });
  const agent = { party: { namespace: "a", workload: "b", app: "c", version: "d" }, order: () => {} };
  taps.join(agent);
  const tap = taps.open({ headers: ["user-agent"] });
  try {
    const { message } = protoMethod(TrafficService.method.report).request.decode(bytes);
    if (message.case === "tapped") taps.take(agent, message.value);
    for (const edge of message.case === "report" ? message.value.edges : []) {
      const read = readEdge(edge, agent.party);
      if (read) store.add(read.name, read.side, read);
    }
    return JSON.stringify([summarize(await store.snapshot({ lastMs: 60_000 }), "service"), taps.size]).length;
  } finally {
    tap.close();
  }
}

function dnsExamples(): readonly Uint8Array[] {
  const question = { type: "A" as const, name: "web.default.svc.cluster.local" };
  return [
    encodeDns({ type: "query", id: 1, flags: 0x100, questions: [question] }),
    encodeDns({ type: "query", id: 2, questions: [{ type: "AAAA", name: "a.b" }, question] }),
  ];
}

function metricsExamples(): readonly Uint8Array[] {
  const plan = {
    reporter: "destination" as const,
    protocol: "http" as const,
    changes: { requests_total: { set: { a: 0 } } },
  };
  const one = line({ peerAddress: "10.0.0.1", responseCode: "200" }, [1, 2, 3, "-"], ["x"]);
  return [exportRequest(plan, [one, one]), exportRequest({ reporter: "source", protocol: "tcp", changes: {} }, [one])];
}

function protobufBodies(): Target {
  const definitions = createDefinitions();
  const kinds = coreKinds.filter(({ kind }) => ["Pod", "Service", "ServiceAccount", "Event", "Secret"].includes(kind));
  const metadata = field(
    1,
    Buffer.concat([field(1, "bob"), field(3, "shop"), field(11, Buffer.concat([field(1, "app"), field(2, "x")]))]),
  );
  const raw = Buffer.concat([
    metadata,
    field(2, field(2, Buffer.concat([field(1, "c"), field(2, "image")]))),
    Buffer.from([0x20, 0]),
  ]);
  const body = (kind: string): Buffer =>
    Buffer.concat([Buffer.from("k8s\0"), field(1, Buffer.concat([field(1, "v1"), field(2, kind)])), field(2, raw)]);
  return target({
    name: "protobuf bodies",
    input: (random) => {
      const kind = random.pick(kinds);
      return { kind: kind.kind, bytes: mutateBytes(random, [body(kind.kind)]).toString("latin1") };
    },
    run: ({ kind, bytes }) => {
      const found = kinds.find((one) => one.kind === kind);
      return found ? parseProtobuf(definitions, found, Buffer.from(bytes, "latin1")) : undefined;
    },
    growth: 512,
  });
}
