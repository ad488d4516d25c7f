/** An extension's configuration, encoded, in; the Wasm filter that is in it, if its module is to be fetched, and ways to write it again, out. */
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack, StringValueSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { type TypedExtensionConfig, TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { RBACSchema as HttpRbacSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { WasmSchema as HttpWasmSchema } from "../../gen/envoy/extensions/filters/http/wasm/v3/wasm_pb.js";
import { RBACSchema as NetworkRbacSchema } from "../../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js";
import { WasmSchema as NetworkWasmSchema } from "../../gen/envoy/extensions/filters/network/wasm/v3/wasm_pb.js";
import { FailurePolicy, type PluginConfig, type VmConfig } from "../../gen/envoy/extensions/wasm/v3/wasm_pb.js";
import { TypedStructSchema } from "../../gen/udpa/type/v1/typed_struct_pb.js";
import type { PullPolicy } from "./module-cache.ts";

export interface RemoteWasm {
  readonly name: string;
  readonly url: string;
  readonly checksum: string;
  readonly timeoutMs: number;
  /** Undefined: none is needed. Empty: one is needed, and the control plane has none for this proxy. */
  readonly pullSecret: string | undefined;
  readonly policy: PullPolicy;
  readonly version: string;
  readonly failOpen: boolean;
  /** With the module in this file, and without what was meant for the agent. */
  withFile(file: string): Uint8Array;
  /** As it was, without what was meant for the agent. */
  withAddress(): Uint8Array;
  /** A filter in its place that lets everything through, or nothing. */
  standIn(): Uint8Array;
}

type WasmSchema = typeof HttpWasmSchema | typeof NetworkWasmSchema;

const metaPrefix = "ISTIO_META_";
const env = {
  secret: "ISTIO_META_WASM_IMAGE_PULL_SECRET",
  policy: "ISTIO_META_WASM_IMAGE_PULL_POLICY",
  version: "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION",
};
const policies: readonly PullPolicy[] = ["UNSPECIFIED_POLICY", "IfNotPresent", "Always"];
const usualTimeoutMs = 5000;
/** What a user may have written inside a filter that is given as JSON. */
const registry = createRegistry(StringValueSchema, StructSchema);

/** Undefined for everything else, which is Envoy's to judge. Throws where it cannot be read. */
export function readRemoteWasm(bytes: Uint8Array): RemoteWasm | undefined {
  const extension = fromBinary(TypedExtensionConfigSchema, bytes);
  const { typedConfig } = extension;
  const schema = typedConfig && schemaOf(typedConfig);
  if (!typedConfig || !schema) return undefined;
  const filter = unpack(schema, typedConfig);
  const vm = filter.config?.vm;
  if (!filter.config || vm?.case !== "vmConfig" || vm.value.code?.specifier.case !== "remote") return undefined;
  const { httpUri, sha256 } = vm.value.code.specifier.value;
  const given = vm.value.environmentVariables?.keyValues ?? {};
  const failOpen = failsOpen(filter.config);
  return {
    name: extension.name,
    url: httpUri?.uri ?? "",
    // So says a control plane that was given none.
    checksum: sha256 === "nil" ? "" : sha256,
    timeoutMs: httpUri?.timeout ? Number(httpUri.timeout.seconds) * 1000 + httpUri.timeout.nanos / 1e6 : usualTimeoutMs,
    pullSecret: given[env.secret],
    policy: policies.find((one) => one === given[env.policy]) ?? "UNSPECIFIED_POLICY",
    version: given[env.version] ?? "",
    failOpen,
    withAddress() {
      hideFromModule(vm.value);
      return encode(extension, anyPack<DescMessage>(schema, filter));
    },
    withFile(file) {
      hideFromModule(vm.value);
      vm.value.code = {
        $typeName: "envoy.config.core.v3.AsyncDataSource",
        specifier: {
          case: "local",
          value: { $typeName: "envoy.config.core.v3.DataSource", specifier: { case: "filename", value: file } },
        },
      };
      return encode(extension, anyPack<DescMessage>(schema, filter));
    },
    standIn: () => encode(extension, standIn(schema, failOpen)),
  };
}

const encode = (extension: TypedExtensionConfig, typedConfig: Any): Uint8Array =>
  toBinary(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name: extension.name, typedConfig }));

const wasmSchemas: readonly WasmSchema[] = [HttpWasmSchema, NetworkWasmSchema];
const typeOf = (url: string): string => url.slice(url.lastIndexOf("/") + 1);

function schemaOf(typedConfig: Any): WasmSchema | undefined {
  const inner = anyUnpack(typedConfig, TypedStructSchema)?.typeUrl ?? typedConfig.typeUrl;
  return wasmSchemas.find(({ typeName }) => typeName === typeOf(inner));
}

function unpack(schema: WasmSchema, typedConfig: Any): MessageShape<WasmSchema> {
  const struct = anyUnpack(typedConfig, TypedStructSchema);
  return struct ? fromJson(schema, struct.value ?? {}, { registry }) : fromBinary(schema, typedConfig.value);
}

function failsOpen({ failurePolicy, failOpen }: PluginConfig): boolean {
  return failurePolicy === FailurePolicy.UNSPECIFIED ? failOpen : failurePolicy === FailurePolicy.FAIL_OPEN;
}

/** The variables with which the control plane tells the agent of secrets and such must not reach the module. */
function hideFromModule(vm: VmConfig): void {
  const variables = vm.environmentVariables;
  if (!variables) return;
  const kept = Object.entries(variables.keyValues).filter(([name]) => !name.startsWith(metaPrefix));
  variables.keyValues = Object.fromEntries(kept);
  if (kept.length === 0 && variables.hostEnvKeys.length === 0) delete vm.environmentVariables;
}

/** Empty rules refuse all, none at all let all through. */
function standIn(schema: WasmSchema, failOpen: boolean): Any {
  const statPrefix = failOpen ? "wasm-default-allow" : "wasm-default-deny";
  const rules = failOpen ? {} : { rules: {} };
  return schema === HttpWasmSchema
    ? anyPack(HttpRbacSchema, create(HttpRbacSchema, { ...rules, rulesStatPrefix: statPrefix }))
    : anyPack(NetworkRbacSchema, create(NetworkRbacSchema, { ...rules, statPrefix }));
}
