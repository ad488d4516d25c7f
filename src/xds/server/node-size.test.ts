import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { checkNodeSize, deltaNode, sotwNode } from "./node-size.ts";

const node = (size: number) => ({ id: "x".repeat(size) });
const delta = (size: number): Uint8Array =>
  toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, { node: node(size) }));

test("a node of more than half a mebibyte is refused, in either kind of request", () => {
  const sotw = toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { node: node(600_000) }));
  expect(() => checkNodeSize(sotw, sotwNode)).toThrow("at most 524288");
  expect(() => checkNodeSize(delta(600_000), deltaNode)).toThrow("at most 524288");
  expect(() => checkNodeSize(delta(500_000), deltaNode)).not.toThrow();
});

test("many names are no large node", () => {
  const names = Array.from({ length: 40_000 }, (_, i) => `outbound|80||service-${i}.default.svc.cluster.local`);
  const request = create(DeltaDiscoveryRequestSchema, { node: node(100), resourceNamesSubscribe: names });
  expect(() => checkNodeSize(toBinary(DeltaDiscoveryRequestSchema, request), deltaNode)).not.toThrow();
});

test("nodes in pieces, and behind fields that nobody knows, are counted together", () => {
  const unknown = Buffer.from([0x78, 0x01]);
  const pieces = Buffer.concat([unknown, delta(300_000), unknown, delta(300_000)]);
  expect(() => checkNodeSize(pieces, deltaNode)).toThrow("600");
});
