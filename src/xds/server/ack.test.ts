import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createRandom } from "../../../test/random.ts";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { types } from "../../model/index.ts";
import { readAck } from "./ack.ts";

const typeUrl = types.endpoint;
const responseNonce = "2026-01-01T00:00:00.000Z/7a";
const read = (request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>) =>
  readAck(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request)));

test("an acknowledgement is read, with or without the node", () => {
  expect(read({ typeUrl, responseNonce })).toMatchObject({ typeUrl, nonce: responseNonce });
  expect(read({ typeUrl, responseNonce, node: { id: "a".repeat(300) } })).toMatchObject({ nonce: responseNonce });
});

test.each([
  ["a first request", { typeUrl, node: { id: "a" } }],
  ["a refusal", { typeUrl, responseNonce, errorDetail: { code: 3, message: "no" } }],
  ["one that asks for more", { typeUrl, responseNonce, resourceNamesSubscribe: ["a"] }],
  ["one that asks for less", { typeUrl, responseNonce, resourceNamesUnsubscribe: ["a"] }],
  ["one that says what it holds", { typeUrl, responseNonce, initialResourceVersions: { a: "1" } }],
  ["one of a type that is not served", { typeUrl: "x", responseNonce }],
  ["an empty one", {}],
])("%s is left to the decoder", (_, request) => expect(read(request)).toBeUndefined());

test("no bytes throw, and none are read past their end", () => {
  const random = createRandom(7);
  const whole = toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce, node: { id: "a" } }),
  );
  for (let end = 0; end < whole.length; end++) expect(readAck(whole.subarray(0, end))?.nonce).not.toBe(responseNonce);
  for (let i = 0; i < 5000; i++) {
    const bytes = whole.slice();
    bytes[random.whole(bytes.length)] = random.whole(256);
    const ack = readAck(bytes);
    if (ack) expect(ack.nonce.length).toBeLessThan(whole.length);
  }
});
