import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createRandom } from "../../../test/random.ts";
import { NodeSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { parseNode } from "./node.ts";
import { type NodeFields, readNode } from "./read-node.ts";

type NodeInit = MessageInitShape<typeof NodeSchema>;

const encoded = (node: NodeInit): Buffer => Buffer.from(toBinary(NodeSchema, create(NodeSchema, node)));

const read = (bytes: Buffer): NodeFields | undefined => readNode(bytes, 0, bytes.length);

/** As an Envoy says it, and some of what others may say. */
const envoy: NodeInit = {
  id: "sidecar~10.0.0.1~a-1.ns~ns.svc.cluster.local",
  cluster: "a.ns",
  metadata: {
    NAMESPACE: "ns",
    LABELS: { app: "a", ["__proto__"]: "text", "": "ü" },
    PILOT_SAN: ["a", "b"],
    ENVOY_STATUS_PORT: 15_021,
    PROXY_CONFIG: { concurrency: 2, tracing: { sampling: 0.5 }, on: true, off: false, nothing: null, list: [[{}], 1] },
  },
  locality: { region: "r", zone: "z", subZone: "é" },
  userAgentName: "envoy",
  userAgentVersionType: {
    case: "userAgentBuildVersion",
    value: { version: { majorNumber: 1, minorNumber: 300, patch: 2 }, metadata: { "build.type": "RELEASE" } },
  },
  extensions: [
    { name: "envoy.filters.http.router", category: "envoy.filters.http", typeUrls: ["a.b.C", "a.b.D"] },
    { name: "istio.stats", disabled: true },
    {},
  ],
  clientFeatures: ["envoy.lb.does_not_support_overprovisioning"],
};

test.each<[string, NodeInit]>([
  ["an Envoy", envoy],
  [
    "a client that says its version as text",
    { ...envoy, userAgentVersionType: { case: "userAgentVersion", value: "1.2.3" } },
  ],
  ["a client that says little", { id: "sidecar~10.0.0.1~a.ns~x", metadata: {} }],
  ["a build without a version", { ...envoy, userAgentVersionType: { case: "userAgentBuildVersion", value: {} } }],
])("%s is read as the decoder reads it", (_, node) => {
  const bytes = encoded(node);
  expect(read(bytes)).toBeDefined();
  expect(parseNode(read(bytes))).toEqual(parseNode(fromBinary(NodeSchema, bytes)));
});

let deep: NonNullable<NodeInit["metadata"]> = {};
for (let i = 0; i < 20; i++) deep = { a: deep };

test.each<[string, Buffer]>([
  ["a field that is not read here", encoded({ ...envoy, dynamicParameters: { a: { params: {} } } })],
  ["a field that comes twice", Buffer.concat([encoded(envoy), encoded({ id: "b" })])],
  ["an extension with a version", encoded({ ...envoy, extensions: [{ name: "a", version: {} }] })],
  ["metadata that is deeper than is taken", encoded({ ...envoy, metadata: deep })],
  ["more values than are taken", encoded({ ...envoy, metadata: { a: Array.from({ length: 9000 }, () => 1) } })],
  ["text that is none", Buffer.from([0x0a, 1, 0xff])],
  ["a value of no kind", Buffer.from([0x1a, 7, 0x0a, 5, 0x0a, 1, 0x61, 0x12, 0])],
])("%s is left to the decoder", (_, bytes) => {
  expect(read(bytes)).toBeUndefined();
});

test("bytes that are changed anywhere give what the decoder gives, or are left to it", () => {
  const random = createRandom(17);
  const whole = encoded(envoy);
  let taken = 0;
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(i % 4 ? whole : whole.subarray(0, random.whole(whole.length)));
    if (i % 4) bytes[random.whole(bytes.length)] = random.whole(256);
    const fields = read(bytes);
    if (!fields) continue;
    taken++;
    expect(outcome(fields)).toEqual(outcome(fromBinary(NodeSchema, bytes)));
  }
  expect(taken).toBeGreaterThan(1000);
});

function outcome(node: NodeFields): unknown {
  try {
    return parseNode(node);
  } catch (error) {
    return String(error);
  }
}
