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

const vmConfig = object(
  { env: array(envVar, { maxItems: 256, listType: "map", listMapKeys: ["name"] }) },
  { proto: "istio.extensions.v1alpha1.VmConfig" },
);
export type VmConfig = Infer<typeof vmConfig>;

/** A module and how it is run; the list of schemes is spelt as in the kind's own rule. */
export const wasmModule = (schemes: string) => ({
  url: string({
    rules: [
      {
        message: "url must have schema one of [http, https, file, oci]",
        rule: `isURL(self) ? (url(self).getScheme() in ${schemes}) : (isURL("http://" + self) &&\nurl("http://" + self).getScheme() in ${schemes})`,
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
});

/** Which side of a connection, and which of its ports. */
export const sideAndPorts = {
  mode: enumOf(["UNDEFINED", "CLIENT", "SERVER", "CLIENT_AND_SERVER"], { proto: "istio.type.v1beta1.WorkloadMode" }),
  ports: array(policyPortSelector, { listType: "map", listMapKeys: ["number"] }),
};

const wasmPluginTrafficSelector = object(sideAndPorts, {
  proto: "istio.extensions.v1alpha1.WasmPlugin.TrafficSelector",
});
export type WasmPluginTrafficSelector = Infer<typeof wasmPluginTrafficSelector>;

const wasmPluginSpec = object(
  {
    selector: workloadSelector,
    targetRef: policyTargetReference,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    ...wasmModule('["", "http", "https", "oci", "file"]'),
    phase: enumOf(["UNSPECIFIED_PHASE", "AUTHN", "AUTHZ", "STATS"], { proto: "istio.extensions.v1alpha1.PluginPhase" }),
    priority: int32({ nullable: true }),
    match: array(wasmPluginTrafficSelector),
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
