/** A Wasm extension in; what Envoy (and the agent, which fetches the module) is told about it out. */
import { create } from "@bufbuild/protobuf";
import { type Any, AnySchema, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { type AsyncDataSource, AsyncDataSourceSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { type TypedExtensionConfig, TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { WasmSchema as HttpWasmSchema } from "../../gen/envoy/extensions/filters/http/wasm/v3/wasm_pb.js";
import { WasmSchema as NetworkWasmSchema } from "../../gen/envoy/extensions/filters/network/wasm/v3/wasm_pb.js";
import {
  type EnvironmentVariables,
  EnvironmentVariablesSchema,
  FailurePolicy,
  type PluginConfig,
  PluginConfigSchema,
} from "../../gen/envoy/extensions/wasm/v3/wasm_pb.js";
import type { WasmConfig } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { seconds } from "../build/duration.ts";
import { isProven } from "../proxy/identity.ts";
import type { View } from "../view.ts";
import { attachedExtensions, type Extension } from "./extension.ts";
import { printPluginJson } from "./plugin-json.ts";
import { readWasmUrl } from "./wasm-url.ts";

export const pullSecretVariable = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
/** How the agent is told; it takes them out before Envoy sees them. */
const env = {
  secret: pullSecretVariable,
  policy: "ISTIO_META_WASM_IMAGE_PULL_POLICY",
  version: "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION",
};

/** Undefined for an extension that is configured in place, or whose url is none. */
export function wasmExtensionConfig(view: View, extension: Extension): TypedExtensionConfig | undefined {
  const { code, resource } = extension;
  if (code.kind !== "wasm") return undefined;
  const config = pluginConfig(view, extension, code.wasm);
  if (!config) return undefined;
  const schema = code.type === "NETWORK" ? NetworkWasmSchema : HttpWasmSchema;
  return create(TypedExtensionConfigSchema, { name: resource, typedConfig: packAny(schema, { config }) });
}

function pluginConfig(view: View, extension: Extension, wasm: WasmConfig): PluginConfig | undefined {
  const code = moduleSource(wasm);
  if (!code) return undefined;
  return create(PluginConfigSchema, {
    name: extension.name,
    rootId: wasm.pluginName ?? "",
    configuration: settingsOf(wasm),
    failurePolicy: failurePolicies[wasm.failStrategy ?? "FAIL_CLOSE"],
    vm: {
      case: "vmConfig",
      value: {
        runtime: "envoy.wasm.runtime.v8",
        code,
        environmentVariables: environment(view, extension, wasm),
      },
    },
  });
}

const failurePolicies = {
  FAIL_CLOSE: FailurePolicy.FAIL_CLOSED,
  FAIL_OPEN: FailurePolicy.FAIL_OPEN,
  FAIL_RELOAD: FailurePolicy.FAIL_RELOAD,
};

/** The agent fetches the module, so the cluster is nobody's. */
function moduleSource({ url = "", sha256 = "" }: WasmConfig): AsyncDataSource | undefined {
  const read = readWasmUrl(url);
  if (!read) return undefined;
  if (read.scheme === "file") {
    const filename = url.startsWith("file://") ? url.slice("file://".length) : url;
    const value = { specifier: { case: "filename" as const, value: filename } };
    return create(AsyncDataSourceSchema, { specifier: { case: "local", value } });
  }
  const httpUri = {
    uri: read.text,
    timeout: seconds(30),
    httpUpstreamType: { case: "cluster" as const, value: "_" },
  };
  return create(AsyncDataSourceSchema, { specifier: { case: "remote", value: { httpUri, sha256 } } });
}

function settingsOf({ pluginConfig: settings = {} }: WasmConfig): Any {
  if (Object.keys(settings).length === 0) return create(AnySchema, {});
  return packAny(StringValueSchema, { value: printPluginJson(settings) });
}

function environment(view: View, extension: Extension, wasm: WasmConfig): EnvironmentVariables {
  const { imagePullPolicy = "UNSPECIFIED_POLICY", vmConfig } = wasm;
  const secret = pullSecretResource(extension.namespace, wasm.imagePullSecret ?? "");
  const values = new Map<string, string>();
  if (secret !== "") values.set(env.secret, secret);
  if (imagePullPolicy !== "UNSPECIFIED_POLICY") values.set(env.policy, imagePullPolicy);
  values.set(env.version, extension.version);
  const hostEnvKeys: string[] = [];
  for (const { name = "", valueFrom = "INLINE", value = "" } of vmConfig?.env ?? []) {
    if (valueFrom === "HOST") hostEnvKeys.push(name);
    else values.set(name, value);
  }
  // Only what the plugin itself refers to is looked up: a variable that a user wrote is no reference.
  const named = values.get(env.secret) ?? "";
  if (named !== "") values.set(env.secret, named === secret ? pullSecret(view, extension, secret) : "");
  return create(EnvironmentVariablesSchema, { hostEnvKeys, keyValues: Object.fromEntries(values) });
}

/** A secret is looked for beside its plugin, whatever namespace the plugin names. */
function pullSecretResource(namespace: string, written: string): string {
  if (written === "" || /^(builtin|invalid):\/\//.test(written)) return "";
  const [, scheme = "kubernetes", rest = written] =
    /^(kubernetes|kubernetes-gateway|configmap):\/\/(.*)$/.exec(written) ?? [];
  const [first = "", second] = rest.split("/");
  if (scheme !== "kubernetes" && !second) return "";
  return `${scheme}://${namespace}/${second ?? first}`;
}

/** The content goes only to proxies that the plugin is for; whoever else asks gets nothing. */
function pullSecret(view: View, extension: Extension, resource: string): string {
  const match = /^kubernetes:\/\/([^/]+)\/([^/]+)$/.exec(resource);
  if (
    !match ||
    !isProven(view.proxy) ||
    !attachedExtensions(view).some(({ resource: name }) => name === extension.resource)
  )
    return "";
  const [, namespace = "", name = ""] = match;
  return view.mesh.credentials.dockerConfig(namespace, name) ?? "";
}
