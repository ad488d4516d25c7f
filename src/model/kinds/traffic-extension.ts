/** TrafficExtension: Wasm or Lua filters. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, int32, object, string, struct } from "./schema.ts";
import { policyPortSelector, policyTargetReference, workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";
import { vmConfig } from "./wasm-plugin.ts";

const trafficSelector = object(
  {
    mode: enumOf(["UNDEFINED", "CLIENT", "SERVER", "CLIENT_AND_SERVER"], { proto: "istio.type.v1beta1.WorkloadMode" }),
    ports: array(policyPortSelector, { listType: "map", listMapKeys: ["number"] }),
  },
  { proto: "istio.extensions.v1alpha1.TrafficSelector" },
);
export type TrafficSelector = Infer<typeof trafficSelector>;

const wasmConfig = object(
  {
    url: string({
      rules: [
        {
          message: "url must have schema one of [http, https, file, oci]",
          rule: 'isURL(self) ? (url(self).getScheme() in ["", "http", "https", "file", "oci"]) : (isURL("http://" + self) &&\nurl("http://" + self).getScheme() in ["", "http", "https", "file", "oci"])',
        },
      ],
      minLength: 1,
    }),
    sha256: string({ pattern: "(^$|^[a-f0-9]{64}$)" }),
    imagePullPolicy: enumOf(["UNSPECIFIED_POLICY", "IfNotPresent", "Always"], {
      proto: "istio.extensions.v1alpha1.PullPolicy",
    }),
    imagePullSecret: string({ minLength: 1, maxLength: 253 }),
    verificationKey: string(),
    pluginConfig: struct(),
    pluginName: string({ minLength: 1, maxLength: 256 }),
    failStrategy: enumOf(["FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"], {
      proto: "istio.extensions.v1alpha1.FailStrategy",
    }),
    vmConfig,
    type: enumOf(["UNSPECIFIED_PLUGIN_TYPE", "HTTP", "NETWORK"], { proto: "istio.extensions.v1alpha1.PluginType" }),
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
