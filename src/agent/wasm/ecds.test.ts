import { create, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack, DurationSchema, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { beforeEach, expect, test } from "vitest";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { RBACSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { WasmSchema } from "../../gen/envoy/extensions/filters/http/wasm/v3/wasm_pb.js";
import { RBACSchema as NetworkRbacSchema } from "../../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js";
import { WasmSchema as NetworkWasmSchema } from "../../gen/envoy/extensions/filters/network/wasm/v3/wasm_pb.js";
import { FailurePolicy } from "../../gen/envoy/extensions/wasm/v3/wasm_pb.js";
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { TypedStructSchema } from "../../gen/udpa/type/v1/typed_struct_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createEcdsRewriter, type EcdsRewriter, type ResponseRewriter } from "./ecds.ts";
import { createSecretHider } from "./hide-secrets.ts";
import { createWasmMetrics, type WasmMetrics } from "./metrics.ts";
import type { ModuleCache, ModuleRequest } from "./module-cache.ts";

const failure = { result: "download_failure", problem: "not there" } as const;
let answers: Awaited<ReturnType<ModuleCache["get"]>>[];
let asked: ModuleRequest[];
let recovered: number;
let metrics: WasmMetrics;
let rewriter: EcdsRewriter;
let stop = new AbortController();

beforeEach(() => {
  stop.abort();
  stop = new AbortController();
  [answers, asked, recovered, metrics] = [[], [], 0, createWasmMetrics()];
  const cache = {
    async get(request: ModuleRequest) {
      asked.push(request);
      return answers.shift() ?? failure;
    },
  };
  const retry = { minMs: 1, maxMs: 2 };
  rewriter = createEcdsRewriter({ cache, metrics, random: () => 0.5, nowMs: () => 0, log: silentLogger, retry });
});

const stream = () => ({ signal: stop.signal, onRecovered: () => void recovered++ });

interface Plugin {
  readonly url?: string;
  readonly failurePolicy?: FailurePolicy;
  readonly keyValues?: Readonly<Record<string, string>>;
  readonly settings?: string;
}

const pluginConfig = (plugin: Plugin) => ({
  name: "ns.p",
  failurePolicy: plugin.failurePolicy ?? FailurePolicy.FAIL_CLOSED,
  configuration: anyPack(StringValueSchema, create(StringValueSchema, { value: plugin.settings ?? "" })),
  vm: {
    case: "vmConfig" as const,
    value: {
      runtime: "envoy.wasm.runtime.v8",
      environmentVariables: { keyValues: { ...plugin.keyValues } },
      code: {
        specifier: {
          case: "remote" as const,
          value: {
            sha256: "nil",
            httpUri: {
              uri: plugin.url ?? "oci://r/x:1",
              timeout: create(DurationSchema, { seconds: 30n }),
              httpUpstreamType: { case: "cluster" as const, value: "_" },
            },
          },
        },
      },
    },
  },
});
const httpPlugin = (plugin: Plugin = {}) => anyPack(WasmSchema, create(WasmSchema, { config: pluginConfig(plugin) }));
const extensionOf = (typedConfig: ReturnType<typeof httpPlugin>) =>
  anyPack(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name: "p", typedConfig }));

async function rewritten(typedConfig: ReturnType<typeof httpPlugin>, by: ResponseRewriter = rewriter) {
  const resources = [{ name: "p", version: "7", resource: extensionOf(typedConfig) }];
  const response = create(DeltaDiscoveryResponseSchema, { typeUrl: types.extension, nonce: "n", resources });
  const bytes = await by.rewrite("delta", toBinary(DeltaDiscoveryResponseSchema, response), stream());
  const out = fromBinary(DeltaDiscoveryResponseSchema, bytes);
  expect(out).toMatchObject({ typeUrl: types.extension, nonce: "n" });
  const [resource] = out.resources;
  const config = resource?.resource && anyUnpack(resource.resource, TypedExtensionConfigSchema);
  if (!config?.typedConfig) throw new Error("no configuration");
  const typed = config.typedConfig;
  return { version: resource?.version, typed, wasm: () => anyUnpack(typed, WasmSchema) };
}

const vmOf = (wasm: MessageShape<typeof WasmSchema> | undefined) =>
  wasm?.config?.vm.case === "vmConfig" ? wasm.config.vm.value : undefined;

test("the module is on disk, and the module does not see what was meant for the agent", async () => {
  answers = [{ file: "/cache/x.wasm" }];
  const keyValues = {
    ISTIO_META_WASM_IMAGE_PULL_SECRET: "{}",
    ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always",
    ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "12",
    MINE: "1",
  };
  const { version, wasm } = await rewritten(httpPlugin({ keyValues, settings: "s" }));
  expect(version).toBe("7");
  expect(vmOf(wasm())).toMatchObject({
    code: { specifier: { case: "local", value: { specifier: { case: "filename", value: "/cache/x.wasm" } } } },
    environmentVariables: { keyValues: { MINE: "1" } },
  });
  expect(asked).toEqual([
    {
      url: "oci://r/x:1",
      checksum: "",
      pullSecret: "{}",
      timeoutMs: 30_000,
      resource: "p",
      version: "12",
      policy: "Always",
    },
  ]);
  expect(metrics.text()).toContain('istio_agent_wasm_config_conversion_count{result="success"} 1');
});

test("in a state of the world response, and given as JSON by an EnvoyFilter", async () => {
  answers = [{ file: "/a" }];
  const value = {
    config: { vm_config: { code: { remote: { http_uri: { uri: "http://x/y", timeout: "1s", cluster: "_" } } } } },
  };
  const typeUrl = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";
  const struct = anyPack(TypedStructSchema, create(TypedStructSchema, { typeUrl, value }));
  const response = create(DiscoveryResponseSchema, { typeUrl: types.extension, resources: [extensionOf(struct)] });
  const bytes = await rewriter.rewrite("sotw", toBinary(DiscoveryResponseSchema, response), stream());
  const [resource] = fromBinary(DiscoveryResponseSchema, bytes).resources;
  const config = resource && anyUnpack(resource, TypedExtensionConfigSchema);
  expect(config?.typedConfig && vmOf(anyUnpack(config.typedConfig, WasmSchema))).toMatchObject({
    code: { specifier: { case: "local" } },
  });
  expect(asked).toMatchObject([{ url: "http://x/y", timeoutMs: 1000 }]);
});

test("without its module all is refused, or let through where the plugin fails open", async () => {
  const closed = await rewritten(httpPlugin());
  expect(anyUnpack(closed.typed, RBACSchema)).toMatchObject({ rulesStatPrefix: "wasm-default-deny", rules: {} });
  // Another version than the control plane's: after a reconnect it is sent again.
  expect(closed.version).not.toBe("7");
  const open = await rewritten(httpPlugin({ failurePolicy: FailurePolicy.FAIL_OPEN }));
  const allow = anyUnpack(open.typed, RBACSchema);
  expect(allow).toMatchObject({ rulesStatPrefix: "wasm-default-allow" });
  expect(allow?.rules).toBeUndefined();
  const network = anyPack(NetworkWasmSchema, create(NetworkWasmSchema, { config: pluginConfig({}) }));
  expect(anyUnpack((await rewritten(network)).typed, NetworkRbacSchema)).toMatchObject({
    statPrefix: "wasm-default-deny",
    rules: {},
  });
  expect(metrics.text()).toContain('istio_agent_wasm_config_conversion_count{result="fetch_failure"} 3');
});

test("a secret that the control plane has not for this proxy, or no address, is a failure and no fetch", async () => {
  const secretless = await rewritten(httpPlugin({ keyValues: { ISTIO_META_WASM_IMAGE_PULL_SECRET: "" } }));
  expect(anyUnpack(secretless.typed, RBACSchema)?.rules).toBeDefined();
  await rewritten(httpPlugin({ url: "" }));
  expect(asked).toEqual([]);
});

test("the last good configuration is kept where the next one's module cannot be had", async () => {
  answers = [{ file: "/good.wasm" }];
  const good = await rewritten(httpPlugin({ settings: "one" }));
  const next = await rewritten(httpPlugin({ url: "oci://r/x:2", settings: "two" }));
  expect(next.wasm()).toEqual(good.wasm());
  expect(next.version).not.toBe("7");
});

test("a missing module is tried again, and told when it has come", async () => {
  answers = [failure, failure, { file: "/late.wasm" }];
  await rewritten(httpPlugin());
  await expect.poll(() => recovered).toBe(1);
  expect(asked).toHaveLength(3);
});

test("of an extension that is gone nothing is kept, and nothing is tried again", async () => {
  answers = [{ file: "/good.wasm" }];
  await rewritten(httpPlugin());
  const gone = create(DeltaDiscoveryResponseSchema, { typeUrl: types.extension, removedResources: ["p"] });
  await rewriter.rewrite("delta", toBinary(DeltaDiscoveryResponseSchema, gone), stream());
  expect(anyUnpack((await rewritten(httpPlugin())).typed, RBACSchema)?.rules).toBeDefined();
});

test("of an extension that Envoy no longer asks for nothing is kept", async () => {
  answers = [{ file: "/good.wasm" }, { file: "/good.wasm" }];
  for (const names of [{ only: new Set(["q"]) }, { without: ["p"] }]) {
    await rewritten(httpPlugin());
    rewriter.asked?.({ only: new Set(["p", "q"]) });
    rewriter.asked?.({ without: ["q"] });
    expect(rewriter.inUse()).toEqual(["/good.wasm"]);
    rewriter.asked?.(names);
    expect(rewriter.inUse()).toEqual([]);
  }
});

test("an agent that leaves modules to Envoy keeps the pull secret from it all the same", async () => {
  const keyValues = { ISTIO_META_WASM_IMAGE_PULL_SECRET: "secret", MINE: "1" };
  const { wasm, version } = await rewritten(httpPlugin({ keyValues }), createSecretHider());
  expect(version).toBe("7");
  expect(vmOf(wasm())).toMatchObject({
    code: { specifier: { case: "remote", value: { httpUri: { uri: "oci://r/x:1" } } } },
    environmentVariables: { keyValues: { MINE: "1" } },
  });
  expect(JSON.stringify(vmOf(wasm())?.environmentVariables)).not.toContain("secret");
  const broken = { ...httpPlugin(), value: Uint8Array.of(0xff, 0xff) };
  expect((await rewritten(broken, createSecretHider())).typed.value).toEqual(broken.value);
});

test("what has no remote module, or cannot be read, is left to Envoy", async () => {
  const local = create(WasmSchema, { config: { vm: { case: "vmConfig", value: { code: {} } } } });
  expect((await rewritten(anyPack(WasmSchema, local))).wasm()).toEqual(local);
  const broken = { ...httpPlugin(), value: Uint8Array.of(0xff, 0xff) };
  expect((await rewritten(broken)).typed.value).toEqual(broken.value);
  expect(asked).toEqual([]);
});

test("a module that comes when its stream is over changes nothing of what a later stream was told", async () => {
  const slow = Promise.withResolvers<{ file: string }>();
  const files = [slow.promise, Promise.resolve({ file: "/new" })];
  const cache = { get: () => files.shift() ?? Promise.resolve(failure) };
  const both = createEcdsRewriter({ cache, metrics, random: () => 0.5, nowMs: () => 0, log: silentLogger });
  const earlier = rewritten(httpPlugin(), both);
  stop.abort(new Error("the stream has ended"));
  stop = new AbortController();
  await rewritten(httpPlugin({ settings: "new" }), both);
  slow.resolve({ file: "/old" });
  await expect(earlier).rejects.toThrow("the stream has ended");
  expect(both.inUse()).toEqual(["/new"]);
});
