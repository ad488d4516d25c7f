import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { AggregatedDiscoveryService } from "../gen/envoy/service/discovery/v3/ads_pb.js";
import { DeltaDiscoveryRequestSchema, DiscoveryRequestSchema } from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { hasTooManyParts } from "./message-parts.ts";
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
  test.each([
    ["messages inside messages", inside(nodeField, empty)],
    ["values in a list in a map", inside(nodeField, inside(metadataField, inside(1, inside(2, value))))],
    ["the same field, again and again", Buffer.alloc(1_000_000, Buffer.from([nodeField * 8 + 2, 0]))],
    ["texts", Buffer.alloc(2_000_000, Buffer.from([3 * 8 + 2, 0]))],
    ["fields that nobody knows", Buffer.alloc(2_000_000, Buffer.from([unknownField * 8 + 2, 0]))],
  ])("%s", (_, bytes) => {
    expect(() => decode(bytes)).toThrow(expect.objectContaining({ status: status.resourceExhausted }));
  });
});

test("as many as there are, and not one more, may be", () => {
  // Two names; a node of one text and one message with one text inside: 2 + (1 + 5) + 1 + (1 + 5) + 1.
  const node = { id: "a", extensions: [{ name: "b" }] };
  const bytes = toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { node, resourceNames: ["c", "d"] }));
  expect([15, 16].map((most) => hasTooManyParts(DiscoveryRequestSchema, bytes, most))).toEqual([true, false]);
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

test("what is no message is the decoder's to refuse", () => {
  for (const bytes of [[0x0a], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], [0x0a, 0xff, 0x7f]])
    expect(hasTooManyParts(DiscoveryRequestSchema, Uint8Array.from(bytes), 1000)).toBe(false);
});
