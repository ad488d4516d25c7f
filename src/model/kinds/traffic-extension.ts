/** TrafficExtension: Wasm or Lua filters. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, int32, object, string } from "./schema.ts";
import { policyTargetReference, workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";
import { sideAndPorts, wasmModule } from "./wasm-plugin.ts";

const trafficSelector = object(sideAndPorts, { proto: "istio.extensions.v1alpha1.TrafficSelector" });
export type TrafficSelector = Infer<typeof trafficSelector>;

const wasmConfig = object(
  {
    ...wasmModule('["", "http", "https", "file", "oci"]'),
  },
  { proto: "istio.extensions.v1alpha1.WasmConfig", required: ["url"] },
);
export type WasmConfig = Infer<typeof wasmConfig>;

const luaConfig = object(
  { inlineCode: string({ minLength: 1, maxLength: 65536 }) },
  { proto: "istio.extensions.v1alpha1.LuaConfig", required: ["inlineCode"] },
);
export type LuaConfig = Infer<typeof luaConfig>;

const trafficExtensionSpec = object(
  {
    selector: workloadSelector,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    phase: enumOf(["UNSPECIFIED", "AUTHN", "AUTHZ", "STATS"], {
      proto: "istio.extensions.v1alpha1.TrafficExtension.ExecutionPhase",
    }),
    priority: int32({ nullable: true }),
    match: array(trafficSelector),
    wasm: wasmConfig,
    lua: luaConfig,
  },
  {
    proto: "istio.extensions.v1alpha1.TrafficExtension",
    oneOf: [["wasm", "lua"]],
    rules: [
      {
        message: "only one of targetRefs or selector can be set",
        rule: "(has(self.selector) ? 1 : 0) + (has(self.targetRefs) ? 1 : 0) <= 1",
      },
      { message: "exactly one of wasm or lua must be set", rule: "has(self.wasm) != has(self.lua)" },
    ],
  },
);
export type TrafficExtensionSpec = Infer<typeof trafficExtensionSpec>;

export const trafficExtension = defineKind({
  group: "extensions.istio.io",
  versions: [{ name: "v1alpha1", served: true, storage: true }],
  kind: "TrafficExtension",
  plural: "trafficextensions",
  shortNames: [],
  categories: ["istio-io", "extensions-istio-io"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: trafficExtensionSpec,
  status: istioStatus,
  required: ["spec"],
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
