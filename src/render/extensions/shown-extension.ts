/** An encoded extension in; the same for showing, with the pull secret of its Wasm module hidden, out. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { WasmSchema as HttpWasmSchema } from "../../gen/envoy/extensions/filters/http/wasm/v3/wasm_pb.js";
import { WasmSchema as NetworkWasmSchema } from "../../gen/envoy/extensions/filters/network/wasm/v3/wasm_pb.js";
import type { PluginConfig } from "../../gen/envoy/extensions/wasm/v3/wasm_pb.js";
import { pullSecretVariable } from "./wasm-config.ts";

/** The agent needs it to fetch the module; readers of dumps do not. */
export function withoutPullSecret(extension: Uint8Array): Uint8Array {
  if (!Buffer.from(extension).includes(pullSecretVariable)) return extension;
  const message = fromBinary(TypedExtensionConfigSchema, extension);
  for (const schema of [HttpWasmSchema, NetworkWasmSchema]) {
    const filter = message.typedConfig && anyUnpack(message.typedConfig, schema);
    if (!filter?.config) continue;
    hide(filter.config);
    message.typedConfig = anyPack(schema, filter);
  }
  return toBinary(TypedExtensionConfigSchema, message);
}

/** Whether there is one can be told still. */
function hide({ vm }: PluginConfig): void {
  const values = vm.case === "vmConfig" ? vm.value.environmentVariables?.keyValues : undefined;
  if (values?.[pullSecretVariable]) values[pullSecretVariable] = "[redacted]";
}
