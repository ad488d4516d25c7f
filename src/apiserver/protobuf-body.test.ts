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
