import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createRandom } from "../../../test/random.ts";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { types } from "../../model/index.ts";
import type { StreamState } from "../stream/stream-state.ts";
import { fromDelta, type Incoming } from "./incoming.ts";
import { createReadSimple } from "./simple-request.ts";

const typeUrl = types.endpoint;
const responseNonce = "2026-01-01T00:00:00.000Z/7a";
const readSimple = createReadSimple();
const encoded = (request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Uint8Array =>
  toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request));
const read = (request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>) => readSimple(encoded(request));

test("a first request says who asks, what it wants and what it has", () => {
  const request = { typeUrl, node: { id: "a", metadata: { b: "c" } }, resourceNamesSubscribe: ["x"] };
  expect(read({ ...request, initialResourceVersions: { y: "1" } })).toMatchObject({
    node: { id: "a", metadata: { b: "c" } },
    names: ["x"],
    nonce: "",
  });
});

test("an acknowledgement is read, with or without the node", () => {
  expect(read({ typeUrl, responseNonce })).toMatchObject({ typeUrl, nonce: responseNonce });
  expect(read({ typeUrl, responseNonce, node: { id: "a".repeat(300) } })).toMatchObject({ nonce: responseNonce });
});

const told = (incoming: Incoming | undefined): unknown => {
  let request: unknown;
  const receiveDelta = (received: unknown) => {
    request = received;
    return { event: "subscribe", dirty: true } as const;
  };
  incoming?.receive({ receiveDelta } as Partial<StreamState> as StreamState, typeUrl, 0);
  return request;
};

test.each([
  ["names", { resourceNamesSubscribe: ["a", "", "ü|80", "a"], resourceNamesUnsubscribe: ["b"] }],
  ["versions", { initialResourceVersions: { a: "1", "": "", __proto__x: "2", ["__proto__"]: "3" } }],
  ["both", { resourceNamesSubscribe: ["a"], initialResourceVersions: { ü: "x".repeat(300) } }],
])("%s are read as the decoder reads them", (_, init) => {
  const request = create(DeltaDiscoveryRequestSchema, { typeUrl, ...init });
  expect(told(read(request))).toEqual(told(fromDelta(request)));
});

test("P03: names without a letter, by the million, are left to the decoder, which refuses them; 20,000 are read", () => {
  const head = encoded({ typeUrl, responseNonce });
  for (const tag of [0x1a, 0x22])
    expect(readSimple(Buffer.concat([head, Buffer.alloc(2_000_000, Buffer.from([tag, 0]))]))).toBeUndefined();
  const resourceNamesSubscribe = Array.from({ length: 20_000 }, (_, i) => `outbound|80||service-${i}`);
  expect(read({ typeUrl, responseNonce, resourceNamesSubscribe })?.names).toHaveLength(20_000);
});

test("a thousand names that came before are the same list, and one that differs anywhere is another", () => {
  const random = createRandom(3);
  const names = Array.from({ length: 1000 }, (_, i) => `outbound|80||svc-${i}.ns.svc.cluster.local`);
  const simple = createReadSimple();
  const again = (changed: readonly string[]): readonly string[] | undefined =>
    simple(encoded({ typeUrl, responseNonce, resourceNamesSubscribe: [...changed] }))?.names;
  const first = again(names);
  expect(first).toEqual(names);
  for (let i = 0; i < 10; i++) {
    const at = random.whole(names.length);
    for (const other of [names.with(at, "x"), names.slice(0, at), names.slice(at), [...names, "x"]])
      expect(again(other)).toEqual(other);
    expect(again(names)).toEqual(names);
  }
  expect(again(names)).toBe(again(names));
});

test("names in two places are left to the decoder", () => {
  const [one, two] = [
    encoded({ resourceNamesSubscribe: ["a"] }),
    encoded({ typeUrl, resourceNamesUnsubscribe: ["c"] }),
  ];
  expect(readSimple(Buffer.concat([one, two]))?.names).toEqual(["a"]);
  expect(readSimple(Buffer.concat([one, two, one]))).toBeUndefined();
});

test("text that is not UTF-8 is left to the decoder, which refuses it, wherever it is", () => {
  const bad = Buffer.from([0xff, 0x61]);
  const head = encoded({ typeUrl, responseNonce });
  for (const tag of [0x1a, 0x22, 0x32])
    expect(readSimple(Buffer.concat([head, Buffer.from([tag, bad.length]), bad]))).toBeUndefined();
  // Also where it is said again, as text.
  for (const tag of [0x12, 0x32])
    expect(readSimple(Buffer.concat([Buffer.from([tag, bad.length]), bad, head]))).toBeUndefined();
  for (const entry of [
    [0x0a, 2, ...bad, 0x12, 0],
    [0x0a, 0, 0x12, 2, ...bad],
  ])
    expect(readSimple(Buffer.concat([head, Buffer.from([0x2a, entry.length, ...entry])]))).toBeUndefined();
  // Also among names that others have asked with before.
  const names = Array.from({ length: 100 }, (_, i) => `outbound|80||svc-${i}.ns.svc.cluster.local`);
  const many = encoded({ typeUrl, responseNonce, resourceNamesSubscribe: names });
  const spoilt = many.with(many.length - 3, 0xff);
  for (let i = 0; i < 3; i++) expect(readSimple(many)?.names).toEqual(names);
  for (let i = 0; i < 3; i++) expect(readSimple(spoilt)).toBeUndefined();
  expect(read({ typeUrl, responseNonce, resourceNamesSubscribe: ["ü|80", "é".repeat(200)] })?.names).toHaveLength(2);
});

test.each([
  ["a first request with more of its node than is read", { typeUrl, node: { id: "a", dynamicParameters: { b: {} } } }],
  ["a refusal", { typeUrl, responseNonce, errorDetail: { code: 3, message: "no" } }],
  ["one of a type that is not served", { typeUrl: "x", responseNonce }],
  ["an empty one", {}],
])("%s is left to the decoder", (_, request) => expect(read(request)).toBeUndefined());

test("no bytes throw, and none are read past their end", () => {
  const random = createRandom(7);
  const whole = toBinary(
    DeltaDiscoveryRequestSchema,
    create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce, node: { id: "a" } }),
  );
  for (let end = 0; end < whole.length; end++)
    expect(readSimple(whole.subarray(0, end))?.nonce).not.toBe(responseNonce);
  for (let i = 0; i < 5000; i++) {
    const bytes = whole.slice();
    bytes[random.whole(bytes.length)] = random.whole(256);
    const read = readSimple(bytes);
    if (read) expect(read.nonce.length).toBeLessThan(whole.length);
  }
});
