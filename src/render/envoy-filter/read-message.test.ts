import { createRegistry, toJson } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { RouteSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { LuaSchema } from "../../gen/envoy/extensions/filters/http/lua/v3/lua_pb.js";
import { HttpFilterSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { readMessage } from "./read-message.ts";

const registry = createRegistry(LuaSchema, StringValueSchema);
const lua = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";

test.each([
  [
    "either spelling of names",
    ClusterSchema,
    { connect_timeout: "1s", altStatName: "a" },
    { connectTimeout: "1s", altStatName: "a" },
  ],
  ["Go's units of time", ClusterSchema, { connectTimeout: "1m30.5s" }, { connectTimeout: "90.500s" }],
  ["a part of a second", ClusterSchema, { connectTimeout: "123ms" }, { connectTimeout: "0.123s" }],
  ["time that runs backwards", ClusterSchema, { connectTimeout: "-1500ms" }, { connectTimeout: "-1.500s" }],
  ["numbers as text", ClusterSchema, { perConnectionBufferLimitBytes: "7" }, { perConnectionBufferLimitBytes: 7 }],
  ["no fields that are not known", ClusterSchema, { name: "a", noSuch: { x: 1 } }, { name: "a" }],
  ["null as absent", ClusterSchema, { name: null, altStatName: "a" }, { altStatName: "a" }],
  [
    "the last of a oneof",
    RouteSchema,
    { route: {}, directResponse: { status: 200 } },
    { directResponse: { status: 200 } },
  ],
  ["an enum by number", ClusterSchema, { lbPolicy: 3 }, { lbPolicy: "RANDOM" }],
  [
    "a type inside, with its own durations and strangers",
    HttpFilterSchema,
    { name: "a", typed_config: { "@type": lua, inline_code: "x", noSuch: 1 } },
    { name: "a", typedConfig: { "@type": lua, inlineCode: "x" } },
  ],
  [
    "a well-known type inside",
    HttpFilterSchema,
    { typedConfig: { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "x" } },
    { typedConfig: { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "x" } },
  ],
] as const)("reads %s", (_, schema, value, expected) => {
  const read = readMessage(registry, schema, value);
  expect("error" in read ? read : toJson(schema, read.message as never, { registry })).toEqual(expected);
});

test.each([
  [ClusterSchema, { connectTimeout: 5 }, /^connectTimeout: 5 is not a duration/],
  [
    ClusterSchema,
    { lbPolicy: "FASTEST" },
    /^lbPolicy: FASTEST is not a value of envoy.config.cluster.v3.Cluster.LbPolicy/,
  ],
  [ClusterSchema, { healthChecks: {} }, /^healthChecks: a list is expected/],
  [ClusterSchema, { healthChecks: [{ timeout: "soon" }] }, /^healthChecks\[0\].timeout: "soon" is not a duration/],
  [ClusterSchema, { name: 5 }, /Cluster\.name/],
  [ClusterSchema, { outlierDetection: "yes" }, /^outlierDetection: an object is expected/],
  [HttpFilterSchema, { typedConfig: { "@type": "t/no.Such" } }, /^typedConfig: the type t\/no.Such is not known/],
  [HttpFilterSchema, { typedConfig: { inlineCode: "x" } }, /^typedConfig: an object with @type is expected/],
  [HttpFilterSchema, { typedConfig: { "@type": lua, inlineCode: [] } }, /Lua\.inline_code/],
] as const)("says what is wrong with %#", (schema, value, expected) => {
  expect(readMessage(registry, schema, value)).toMatchObject({ error: expect.stringMatching(expected) });
});

test("names what is not known, the innermost first, with the message that should have it", () => {
  const value = { name: "a", nme: 1, typed_config: { "@type": lua, inlin_code: "x" } };
  const read = readMessage(registry, HttpFilterSchema, value);
  expect("error" in read ? read : read.strangers).toEqual([
    {
      path: "typed_config.inlin_code",
      name: "inlin_code",
      type: "envoy.extensions.filters.http.lua.v3.Lua",
      within: [lua],
    },
    { path: "nme", name: "nme", type: HttpFilterSchema.typeName, within: [] },
  ]);
});
