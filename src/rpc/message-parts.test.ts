import { create, fromJson, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { AggregatedDiscoveryService } from "../gen/envoy/service/discovery/v3/ads_pb.js";
import { DeltaDiscoveryRequestSchema, DiscoveryRequestSchema } from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { EdgeSchema } from "../gen/fairlead/traffic_pb.js";
import { checkParts } from "./message-parts.ts";
import { protoMethod } from "./method.ts";
import { status } from "./status.ts";

const { decode } = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources).request;
const varint = (value: number): readonly number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
const inside = (field: number, body: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([field * 8 + 2, ...varint(body.length)]), body]);

describe("P03: what takes long to decode and few bytes to send is refused", () => {
  const empty = Buffer.alloc(1_000_000, Buffer.from([9 * 8 + 2, 0]));
  const [nodeField, metadataField, unknownField] = [2, 3, 15];
  const value = inside(6, Buffer.alloc(1_000_000, Buffer.from([1 * 8 + 2, 0])));
  const entry = (i: number): Buffer =>
    inside(1, Buffer.concat([inside(1, Buffer.from(`k${i}`)), inside(2, Buffer.of(8, 0))]));
  const map = inside(metadataField, Buffer.concat(Array.from({ length: 1000 }, (_, i) => entry(i))));
  const emptyMaps = Buffer.alloc(2000, Buffer.from([metadataField * 8 + 2, 0]));
  test.each([
    ["messages inside messages", inside(nodeField, empty)],
    ["values in a list in a map", inside(nodeField, inside(metadataField, inside(1, inside(2, value))))],
    ["the same field, again and again", Buffer.alloc(1_000_000, Buffer.from([nodeField * 8 + 2, 0]))],
    ["texts", Buffer.alloc(2_000_000, Buffer.from([3 * 8 + 2, 0]))],
    ["a map that is merged with nothing, again and again", inside(nodeField, Buffer.concat([map, emptyMaps]))],
    ["fields that nobody knows", Buffer.alloc(2_000_000, Buffer.from([unknownField * 8 + 2, 0]))],
  ])("%s", (_, bytes) => {
    expect(() => decode(bytes)).toThrow(expect.objectContaining({ status: status.resourceExhausted }));
  });
});

test("as many as there are, and not one more, may be", () => {
  // Two names; a node of one text and one message with one text inside: 2 + (1 + 5) + 1 + (1 + 5) + 1.
  const node = { id: "a", extensions: [{ name: "b" }] };
  const bytes = toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { node, resourceNames: ["c", "d"] }));
  expect(() => checkParts(DiscoveryRequestSchema, bytes, 16)).not.toThrow();
  expect(() => checkParts(DiscoveryRequestSchema, bytes, 15)).toThrow("more than 15 parts");
});

test("an Envoy that holds 60,000 resources may say so", () => {
  const initialResourceVersions = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`cluster ${i}`, "1"]));
  const bytes = toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { initialResourceVersions, node: { id: "a" } }),
  );
  const { request } = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
  expect(Object.keys(request.decode(bytes).initialResourceVersions)).toHaveLength(60_000);
});

describe("what the decoder would read otherwise than it is counted is refused", () => {
  test.each([
    ["a field without a value", [0x0a]],
    ["a number without an end", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ["a length beyond the end", [0x0a, 0xff, 0x7f]],
    ["a length of 33 bits", [0x7a, 0x80, 0x80, 0x80, 0x80, 0x10, 0x0a, 0x00]],
    ["a length beyond the message that it is in", [0x12, 0x02, 0x4a, 0x02, 0x0a, 0x00]],
    ["a number beyond the message that it is in", [0x12, 0x02, 0x79, 0x00, 0, 0, 0, 0, 0, 0, 0]],
    ["a message that is written as a number", [0x15, 0x02, 0x0a, 0x00, 0x00]],
    ["a text that is written as a number", [0x1d, 0x00, 0x00, 0x00, 0x00]],
    ["a group", [0x7b, 0x7c]],
  ])("%s", (_, bytes) => {
    expect(() => decode(Uint8Array.from(bytes))).toThrow(expect.objectContaining({ status: status.invalidArgument }));
  });
});

test("whatever an encoder writes may be: numbers of each width, lists of them packed or not, maps, texts", () => {
  const struct = { a: [1.5, true, null, "b", { c: [2] }] };
  const file = AggregatedDiscoveryService.file.proto;
  const dependencies = { ...file, publicDependency: [0, 1, 300], weakDependency: [2] };
  for (const [schema, bytes] of [
    [StructSchema, toBinary(StructSchema, fromJson(StructSchema, struct))],
    [FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, dependencies)],
    [EdgeSchema, toBinary(EdgeSchema, create(EdgeSchema, { counts: [0, 1, 300, 70_000], sentBytes: 1.5, side: 1 }))],
  ] as const)
    expect(() => checkParts(schema, bytes, 10_000)).not.toThrow();
});
