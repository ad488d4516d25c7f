import { create } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { ClusterSchema } from "../gen/envoy/config/cluster/v3/cluster_pb.js";
import { loadedFiles } from "../gen/file-desc.js";
import { loadAllTypes } from "./all-types.ts";

test("all types are made in many short turns, and those in use stay the same", async () => {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const before = loadedFiles.length;
  const registry = await loadAllTypes();
  done = true;
  const made = loadedFiles.length - before;
  expect(made).toBeGreaterThan(300);
  expect(turns).toBeGreaterThan(made / 10);
  expect(registry.getMessage("envoy.config.cluster.v3.Cluster")).toBe(ClusterSchema);
});

test("a type that a module brings later is the one that was made before", async () => {
  const registry = await loadAllTypes();
  const { LuaSchema } = await import("../gen/envoy/extensions/filters/http/lua/v3/lua_pb.js");
  expect(registry.getMessage(LuaSchema.typeName)).toBe(LuaSchema);
  const packed = anyPack(LuaSchema, create(LuaSchema, { inlineCode: "return" }));
  expect(anyUnpack(packed, registry)).toMatchObject({ inlineCode: "return" });
  const names = loadedFiles.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
