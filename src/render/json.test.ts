import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { TypedExtensionConfigSchema } from "../gen/envoy/config/core/v3/extension_pb.js";
import { types } from "../model/index.ts";
import { createJsonPrinter } from "./json.ts";

test("any type that a patch may bring in is printed, the well-known ones too", async () => {
  const print = createJsonPrinter();
  const typedConfig = anyPack(TimestampSchema, create(TimestampSchema, { seconds: 1n }));
  const bytes = toBinary(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name: "x", typedConfig }));
  expect(print(types.extension, bytes)).toEqual({
    name: "x",
    typedConfig: { "@type": "type.googleapis.com/google.protobuf.Timestamp", value: "1970-01-01T00:00:01Z" },
  });
});
