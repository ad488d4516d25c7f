/** WasmPlugin: WebAssembly filters. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, int32, object, string, struct } from "./schema.ts";
import { policyPortSelector, policyTargetReference, workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";

const envVar = object(
  {
    name: string({ minLength: 1, maxLength: 256 }),
    valueFrom: enumOf(["INLINE", "HOST"], { proto: "istio.extensions.v1alpha1.EnvValueSource" }),
    value: string({ maxLength: 2048 }),
  },
  {
    proto: "istio.extensions.v1alpha1.EnvVar",
    required: ["name"],
    rules: [
      {
        message: "value may only be set when valueFrom is INLINE",
        rule: '(has(self.valueFrom) ? self.valueFrom : "") != "HOST" || !has(self.value)',
      },
    ],
  },
);
export type EnvVar = Infer<typeof envVar>;

export const vmConfig = object(
  { env: array(envVar, { maxItems: 256, listType: "map", listMapKeys: ["name"] }) },
  { proto: "istio.extensions.v1alpha1.VmConfig" },
);
export type VmConfig = Infer<typeof vmConfig>;

const wasmPluginTrafficSelector = object(
  {
    mode: enumOf(["UNDEFINED", "CLIENT", "SERVER", "CLIENT_AND_SERVER"], { proto: "istio.type.v1beta1.WorkloadMode" }),
    ports: array(policyPortSelector, { listType: "map", listMapKeys: ["number"] }),
  },
  { proto: "istio.extensions.v1alpha1.WasmPlugin.TrafficSelector" },
);
export type WasmPluginTrafficSelector = Infer<typeof wasmPluginTrafficSelector>;

const wasmPluginSpec = object(
  {
    selector: workloadSelector,
    targetRef: policyTargetReference,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    url: string({
      rules: [
        {
          message: "url must have schema one of [http, https, file, oci]",
          rule: 'isURL(self) ? (url(self).getScheme() in ["", "http", "https", "oci", "file"]) : (isURL("http://" + self) &&\nurl("http://" + self).getScheme() in ["", "http", "https", "oci", "file"])',
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
    phase: enumOf(["UNSPECIFIED_PHASE", "AUTHN", "AUTHZ", "STATS"], { proto: "istio.extensions.v1alpha1.PluginPhase" }),
    priority: int32({ nullable: true }),
    failStrategy: enumOf(["FAIL_CLOSE", "FAIL_OPEN", "FAIL_RELOAD"], {
      proto: "istio.extensions.v1alpha1.FailStrategy",
    }),
    vmConfig,
    match: array(wasmPluginTrafficSelector),
    type: enumOf(["UNSPECIFIED_PLUGIN_TYPE", "HTTP", "NETWORK"], { proto: "istio.extensions.v1alpha1.PluginType" }),
  },
  {
    proto: "istio.extensions.v1alpha1.WasmPlugin",
    required: ["url"],
    rules: [
      {
        message: "only one of targetRefs or selector can be set",
        rule: "(has(self.selector) ? 1 : 0) + (has(self.targetRef) ? 1 : 0) + (has(self.targetRefs) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type WasmPluginSpec = Infer<typeof wasmPluginSpec>;

export const wasmPlugin = defineKind({
  group: "extensions.istio.io",
  versions: [{ name: "v1alpha1", served: true, storage: true }],
  kind: "WasmPlugin",
  plural: "wasmplugins",
  shortNames: [],
  categories: ["istio-io", "extensions-istio-io"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: wasmPluginSpec,
  status: istioStatus,
  required: ["spec"],
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
