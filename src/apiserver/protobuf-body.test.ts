import fc from "fast-check";
import { expect, test } from "vitest";
import { FairleadError } from "../lib/index.ts";
import { coreKinds } from "./core-kinds.ts";
import { createDefinitions } from "./definitions.ts";
import type { ApiKind } from "./kind.ts";
import { parseProtobuf } from "./protobuf-body.ts";

const definitions = createDefinitions();
const kindOf = (name: string): ApiKind => {
  const found = coreKinds.find((kind) => kind.kind === name);
  if (!found) throw new Error(name);
  return found;
};
const field = (number: number, value: Buffer | string): Buffer => {
  const data = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, data.length]), data]);
};
const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([Buffer.from("k8s\0"), field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])), field(2, raw)]);

test("an object in its protobuf form", () => {
  const metadata = Buffer.concat([
    field(1, "bob"),
    field(3, "shop"),
    field(11, Buffer.concat([field(1, "app"), field(2, "x")])),
  ]);
  const automount = Buffer.from([0x20, 0]);
  const body = envelope(
    "v1",
    "ServiceAccount",
    Buffer.concat([field(1, metadata), field(3, field(1, "pull")), automount]),
  );
  expect(parseProtobuf(definitions, kindOf("ServiceAccount"), body)).toEqual({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "bob", namespace: "shop", labels: { app: "x" } },
    imagePullSecrets: [{ name: "pull" }],
    automountServiceAccountToken: false,
  });
});

const length = (size: number): Buffer =>
  size < 128 ? Buffer.from([size]) : Buffer.concat([Buffer.from([(size & 127) | 128]), length(size >> 7)]);
const long = (number: number, data: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2]), length(data.length), data]);
const repeated = (count: number, item: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => item));
const accountWith = (metadata: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from("k8s\0"),
    field(1, Buffer.concat([field(1, "v1"), field(2, "ServiceAccount")])),
    long(2, long(1, metadata)),
  ]);

test("long lists and maps are read in one go, and longer ones refused", () => {
  const read = (metadata: Buffer) =>
    parseProtobuf(definitions, kindOf("ServiceAccount"), accountWith(metadata)) as {
      metadata: { finalizers: readonly string[]; labels: Readonly<Record<string, string>> };
    };
  const finalizer = field(14, "");
  expect(read(repeated(60_000, finalizer)).metadata.finalizers).toHaveLength(60_000);
  const label = (i: number): Buffer => field(11, Buffer.concat([field(1, `k${i}`), field(2, "v")]));
  const labels = Buffer.concat(Array.from({ length: 20_000 }, (_, i) => label(i)));
  expect(Object.keys(read(labels).metadata.labels)).toHaveLength(20_000);
  expect(() => read(repeated(70_000, finalizer))).toThrow("more than 65536 fields");
});

test("a key that JavaScript has a use for is a key", () => {
  const label = field(11, Buffer.concat([field(1, "__proto__"), field(2, "x")]));
  const { metadata } = parseProtobuf(definitions, kindOf("ServiceAccount"), accountWith(label)) as {
    metadata: { labels: object };
  };
  expect(Object.entries(metadata.labels)).toEqual([["__proto__", "x"]]);
});

test("any bytes are data or a refusal, never a crash", () => {
  const pod = kindOf("Pod");
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      for (const body of [Buffer.from(bytes), envelope("v1", "Pod", Buffer.from(bytes))]) {
        try {
          parseProtobuf(definitions, pod, body);
        } catch (error) {
          expect(error).toBeInstanceOf(FairleadError);
        }
      }
    }),
    { numRuns: 500 },
  );
});
