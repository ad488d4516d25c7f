import { create, createRegistry, type DescMessage, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { MetadataSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { RouteSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { BufferSchema } from "../../gen/envoy/extensions/filters/http/buffer/v3/buffer_pb.js";
import { LuaSchema } from "../../gen/envoy/extensions/filters/http/lua/v3/lua_pb.js";
import { type ListRule, mergeAny, mergeInto } from "./merge.ts";

const registry = createRegistry(BufferSchema, LuaSchema);

interface Case {
  readonly what: string;
  readonly schema: DescMessage;
  readonly target: JsonObject;
  readonly source: JsonObject;
  readonly merged: JsonObject;
  readonly lists?: ListRule;
}

const cases: readonly Case[] = [
  {
    what: "a scalar is replaced, an absent one is left",
    schema: ClusterSchema,
    target: { name: "a", altStatName: "b" },
    source: { altStatName: "c" },
    merged: { name: "a", altStatName: "c" },
  },
  {
    what: "messages merge field by field",
    schema: ClusterSchema,
    target: { outlierDetection: { consecutive5xx: 5, maxEjectionPercent: 10 } },
    source: { outlierDetection: { maxEjectionPercent: 20, successRateMinimumHosts: 3 } },
    merged: { outlierDetection: { consecutive5xx: 5, maxEjectionPercent: 20, successRateMinimumHosts: 3 } },
  },
  {
    what: "a duration is one value",
    schema: ClusterSchema,
    target: { connectTimeout: "1.500s" },
    source: { connectTimeout: "2s" },
    merged: { connectTimeout: "2s" },
  },
  {
    what: "a wrapper with a zero in it leaves a value that is there",
    schema: ListenerSchema,
    target: { perConnectionBufferLimitBytes: 5, useOriginalDst: true },
    source: { perConnectionBufferLimitBytes: 0, useOriginalDst: false, transparent: false },
    merged: { perConnectionBufferLimitBytes: 5, useOriginalDst: true, transparent: false },
  },
  {
    what: "lists grow",
    schema: ClusterSchema,
    target: { circuitBreakers: { thresholds: [{ maxRetries: 1 }] } },
    source: { circuitBreakers: { thresholds: [{ maxRetries: 2 }] } },
    merged: { circuitBreakers: { thresholds: [{ maxRetries: 1 }, { maxRetries: 2 }] } },
  },
  {
    what: "lists are replaced where the patch has members, however deep they are",
    schema: ClusterSchema,
    target: { circuitBreakers: { thresholds: [{ maxRetries: 1 }] }, healthChecks: [{ timeout: "1s" }] },
    source: { circuitBreakers: { thresholds: [{ maxRetries: 2 }] }, healthChecks: [] },
    merged: { circuitBreakers: { thresholds: [{ maxRetries: 2 }] }, healthChecks: [{ timeout: "1s" }] },
    lists: "replace",
  },
  {
    what: "entries of maps are replaced whole",
    schema: MetadataSchema,
    target: { filterMetadata: { istio: { a: 1 }, other: { b: 1 } } },
    source: { filterMetadata: { istio: { c: [2] } } },
    merged: { filterMetadata: { istio: { c: [2] }, other: { b: 1 } } },
  },
  {
    what: "the same member of a oneof merges, another takes its place",
    schema: RouteSchema,
    target: { route: { cluster: "a", timeout: "1s" }, match: { prefix: "/a" } },
    source: { route: { timeout: "2s" }, match: { path: "/b" } },
    merged: { route: { cluster: "a", timeout: "2s" }, match: { path: "/b" } },
  },
  {
    what: "an Any inside is a value like any other",
    schema: ClusterSchema,
    target: {
      transportSocket: {
        name: "a",
        typedConfig: { "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua", inlineCode: "a" },
      },
    },
    source: {
      transportSocket: {
        typedConfig: {
          "@type": "type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer",
          maxRequestBytes: 5,
        },
      },
    },
    merged: {
      transportSocket: {
        name: "a",
        typedConfig: {
          "@type": "type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer",
          maxRequestBytes: 5,
        },
      },
    },
  },
];

describe("merge", () => {
  test.each(cases)("$what", ({ schema, target, source, merged, lists = "append" }) => {
    const message = fromJson(schema, target, { registry });
    const patch = fromJson(schema, source, { registry });
    const before = JSON.stringify(toJson(schema, patch, { registry }));
    mergeInto(schema, message, patch, lists);
    expect(toJson(schema, message, { registry })).toEqual(merged);
    expect(JSON.stringify(toJson(schema, patch, { registry }))).toBe(before);
  });

  test("nothing of the patch is shared with what it was merged into", () => {
    const patch = create(ClusterSchema, { healthChecks: [{ altPort: 1 }] });
    const [first, second] = [create(ClusterSchema, {}), create(ClusterSchema, {})];
    mergeInto(ClusterSchema, first, patch, "append");
    mergeInto(ClusterSchema, second, patch, "append");
    const [check] = first.healthChecks;
    if (check) check.altPort = 2;
    expect([second.healthChecks[0]?.altPort, patch.healthChecks[0]?.altPort]).toEqual([1, 1]);
  });

  test("fields that are not known are kept", () => {
    const unknown = [{ no: 9999, wireType: 0 as const, data: new Uint8Array([1]) }];
    const target = create(ClusterSchema, {});
    mergeInto(ClusterSchema, target, { ...create(ClusterSchema, {}), $unknown: unknown }, "append");
    expect(target.$unknown).toEqual(unknown);
  });
});

describe("Any with Any", () => {
  const any = (json: JsonObject): Any => fromJson(AnySchema, json, { registry });
  const lua = (fields: JsonObject): Any => any({ "@type": "t/envoy.extensions.filters.http.lua.v3.Lua", ...fields });

  test("the same type merges as that type", () => {
    const merged = mergeAny(
      registry,
      lua({ inlineCode: "a", sourceCodes: { x: { inlineString: "1" } } }),
      lua({ inlineCode: "b", sourceCodes: { y: { inlineString: "2" } }, statPrefix: "s" }),
    );
    expect("error" in merged ? merged : toJson(AnySchema, merged, { registry })).toEqual({
      "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      inlineCode: "b",
      sourceCodes: { x: { inlineString: "1" }, y: { inlineString: "2" } },
      statPrefix: "s",
    });
  });

  test("another type, and one that is not known, are refused", () => {
    const buffer = anyPack(BufferSchema, create(BufferSchema, {}));
    expect(mergeAny(registry, lua({}), buffer)).toEqual({
      error:
        "envoy.extensions.filters.http.buffer.v3.Buffer cannot be merged into envoy.extensions.filters.http.lua.v3.Lua: the types differ",
    });
    const unknown = create(AnySchema, { typeUrl: "t/no.Such" });
    expect(mergeAny(registry, unknown, unknown)).toEqual({ error: "the type no.Such is not known" });
  });
});
