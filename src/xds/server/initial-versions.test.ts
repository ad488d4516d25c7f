import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createRandom } from "../../../test/random.ts";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { status } from "../../rpc/index.ts";
import { takeVersions } from "./initial-versions.ts";

const encoded = (request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Uint8Array =>
  toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request));

const first = { node: { id: "a", metadata: { b: "c" } }, typeUrl: "t", resourceNamesSubscribe: ["x", "y"] };
const initialResourceVersions = { x: "1", "": "", ["__proto__"]: "2", long: "v".repeat(300), ü: "é" };

test("versions and the rest are what the decoder reads, wherever they are", () => {
  const [rest, versions] = [encoded(first), encoded({ initialResourceVersions })];
  for (const bytes of [encoded({ ...first, initialResourceVersions }), Buffer.concat([versions, rest])]) {
    const apart = takeVersions(bytes);
    expect(apart?.versions).toEqual(new Map(Object.entries(initialResourceVersions)));
    expect(apart && fromBinary(DeltaDiscoveryRequestSchema, apart.rest)).toEqual(
      fromBinary(DeltaDiscoveryRequestSchema, rest),
    );
  }
});

test("what has none, or is no text, is left to the decoder", () => {
  expect(takeVersions(encoded(first))).toBeUndefined();
  expect(takeVersions(Buffer.from([0x2a, 5, 0x0a, 1, 0xff, 0x12, 0]))).toBeUndefined();
  expect(takeVersions(Buffer.from([0x2a, 2, 0x12, 0]))).toBeUndefined();
  expect(takeVersions(Buffer.from([0x28, 1]))).toBeUndefined();
});

test("from the first on that the decoder has to read they are left to it", () => {
  const versionFirst = Buffer.from([0x2a, 6, 0x12, 1, 0x35, 0x0a, 1, 0x7a]);
  const noText = encoded({ initialResourceVersions: { "\ufffd": "6" } });
  for (const [odd, left] of [
    [versionFirst, { z: "7" }],
    [noText, { "\ufffd": "6", z: "7" }],
  ] as const) {
    const after = encoded({ ...first, initialResourceVersions: { z: "7" } });
    const apart = takeVersions(Buffer.concat([encoded({ initialResourceVersions }), odd, after]));
    expect(apart?.versions).toEqual(new Map(Object.entries(initialResourceVersions)));
    expect(apart && fromBinary(DeltaDiscoveryRequestSchema, apart.rest).initialResourceVersions).toEqual(left);
  }
});

test("by the million they are refused", () => {
  const bytes = Buffer.alloc(3_000_000, Buffer.from([0x2a, 4, 0x0a, 0, 0x12, 0]));
  expect(() => takeVersions(bytes)).toThrow(expect.objectContaining({ status: status.resourceExhausted }));
});

test("bytes that are changed anywhere give the decoder's versions, or are left to it", () => {
  const random = createRandom(11);
  const whole = encoded({ ...first, initialResourceVersions });
  for (let i = 0; i < 5000; i++) {
    const bytes = whole.slice(0, i % 2 ? whole.length : random.whole(whole.length));
    if (i % 2) bytes[random.whole(bytes.length)] = random.whole(256);
    const apart = attempt(() => takeVersions(bytes));
    const read = apart && attempt(() => fromBinary(DeltaDiscoveryRequestSchema, bytes));
    const left = read && fromBinary(DeltaDiscoveryRequestSchema, apart.rest).initialResourceVersions;
    if (left)
      expect(new Map([...apart.versions, ...Object.entries(left)])).toEqual(
        new Map(Object.entries(read.initialResourceVersions)),
      );
    if (apart && !read) expect(() => fromBinary(DeltaDiscoveryRequestSchema, apart.rest)).toThrow();
  }
});

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
