/** WasmPlugin and TrafficExtension through the front door: places, order, modules, and secrets that go to few. */
import { describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { bytesOf, type KubeObject, type Proxy, types } from "../../src/model/index.ts";
import { createJsonPrinter, createRenderer } from "../../src/render/index.ts";
import { pod, service, slice } from "./objects.ts";
import type { Json } from "./offline.ts";

const print = createJsonPrinter();

function extension(kind: string, name: string, spec: object, namespace = "default"): KubeObject {
  const metadata = { name, namespace, resourceVersion: "7" };
  return { apiVersion: "extensions.istio.io/v1alpha1", kind, metadata, spec: { ...spec } };
}
const plugin = (name: string, spec: object, namespace?: string): KubeObject =>
  extension("WasmPlugin", name, { url: "file:///x.wasm", ...spec }, namespace);

const mesh: readonly KubeObject[] = [
  pod("web", { proxy: "sidecar", address: "10.0.0.1" }),
  service("web"),
  slice("web", [{ address: "10.0.0.1", pod: "web" }]),
];

const prefix = "extensions.istio.io/trafficextension/";
const resource = (name: string): string => `${prefix}${name}~istio-translated-wasmplugin`;
/** `default.a` of the names that extensions have on the wire. */
const short = (name: string): string => name.replace(prefix, "").replace("~istio-translated-wasmplugin", "");

async function setUp(objects: readonly KubeObject[], change: Partial<Proxy> = {}) {
  const offline = createOffline({ objects: [...mesh, ...objects] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const renderer = createRenderer(offline.mesh, offline.classOf({ ...proxy, ...change }));
  const get = (type: (typeof types)[keyof typeof types], name: string): Json => {
    const found = renderer.get(type, name);
    return found && print(type, bytesOf(found));
  };
  const filters = (listener: string, level: "http" | "network"): readonly string[] => {
    const { filterChains, defaultFilterChain } = get(types.listener, listener);
    const all: Json[] = [...(filterChains ?? []), ...(defaultFilterChain ? [defaultFilterChain] : [])];
    const network = all.flatMap((chain) => chain.filters);
    const names = level === "network" ? network : network.flatMap((filter) => filter.typedConfig?.httpFilters ?? []);
    const found = names.map(({ name }) => name).filter((name) => name.startsWith(prefix));
    return [...new Set(found)].map(short);
  };
  const vm = (name: string): Json => get(types.extension, name).typedConfig.config;
  return { offline, renderer, get, filters, vm };
}

describe("places", () => {
  test("phase, then priority, then namespace and age; WasmPlugins and TrafficExtensions among each other", async () => {
    const { filters } = await setUp([
      plugin("stats", { phase: "STATS" }),
      plugin("plain", {}),
      plugin("low", { phase: "AUTHN", priority: -5 }),
      plugin("high", { phase: "AUTHN", priority: 5 }),
      plugin("none", { phase: "AUTHN" }),
      plugin("root", { phase: "AUTHN" }, "istio-system"),
      extension("TrafficExtension", "lua", { phase: "AUTHN", lua: { inlineCode: "-- x" } }),
      plugin("elsewhere", {}, "other"),
      plugin("other", { selector: { matchLabels: { app: "shop" } } }),
    ]);
    expect(filters("virtualInbound", "http")).toEqual([
      "default.high",
      "default.low",
      "default.lua",
      "default.none",
      "istio-system.root",
      "default.stats",
      "default.plain",
    ]);
  });

  test("mode and port choose chains; the type chooses the level", async () => {
    const { filters, renderer } = await setUp([
      plugin("client", { match: [{ mode: "CLIENT" }] }),
      plugin("server", { match: [{ mode: "SERVER" }] }),
      plugin("port", { match: [{ ports: [{ number: 80 }] }] }),
      plugin("net", { type: "NETWORK", match: [{ mode: "SERVER", ports: [{ number: 8080 }] }] }),
      plugin("nowhere", { match: [{ ports: [{ number: 1 }] }] }),
    ]);
    expect(filters("virtualInbound", "http")).toEqual(["default.server"]);
    expect(filters("0.0.0.0_80", "http")).toEqual(["default.client", "default.port"]);
    expect(filters("virtualInbound", "network")).toEqual(["default.net"]);
    expect([...renderer.all(types.extension).keys()].map(short)).toEqual([
      "default.client",
      "default.net",
      "default.port",
      "default.server",
    ]);
  });

  test("Lua stands in its place and is not asked for", async () => {
    const { get, renderer } = await setUp([extension("TrafficExtension", "lua", { lua: { inlineCode: "-- x" } })]);
    const listener = JSON.stringify(get(types.listener, "virtualInbound"));
    expect(listener).toContain('"defaultSourceCode":{"inlineString":"-- x"}');
    expect([...renderer.all(types.extension).keys()]).toEqual([]);
    expect(renderer.get(types.extension, `${prefix}default.lua`)).toBeUndefined();
  });

  test("code that is not there is left out", async () => {
    const { filters } = await setUp([
      extension("WasmPlugin", "empty", { url: "" }),
      extension("TrafficExtension", "none", {}),
      extension("TrafficExtension", "no-lua", { lua: { inlineCode: "" } }),
      extension("TrafficExtension", "long", { lua: { inlineCode: "x".repeat(65_537) } }),
    ]);
    expect(filters("virtualInbound", "http")).toEqual([]);
  });
});

describe("modules", () => {
  test.each([
    ["file:///opt/x.wasm", { local: { filename: "/opt/x.wasm" } }],
    ["oci://registry.example:5000/a/b:1", "oci://registry.example:5000/a/b:1"],
    ["registry.example/a/b:1", "oci://registry.example/a/b:1"],
    ["https://Files.example/a b?x=1 2#f", "https://Files.example/a%20b?x=1%202#f"],
    ["HTTP://files.example/%7Ea", "http://files.example/%7Ea"],
  ])("%s", async (url, expected) => {
    const { vm } = await setUp([plugin("p", { url })]);
    const code =
      typeof expected === "string"
        ? { remote: { httpUri: { uri: expected, cluster: "_", timeout: "30s" } } }
        : expected;
    expect(vm(resource("default.p")).vmConfig.code).toEqual(code);
  });

  test("a url that is none asks for nothing", async () => {
    const { get } = await setUp([plugin("p", { url: "1.2.3.4:5000/x" })]);
    expect(get(types.extension, resource("default.p"))).toBeUndefined();
  });

  test("settings are Istio's text: sorted, and safe inside HTML", async () => {
    const pluginConfig = { z: "<a>&b", a: [1, 1.5, 1e21, 1e-7, null, true], m: { y: "\u2028", x: {} } };
    const { vm } = await setUp([plugin("p", { pluginConfig })]);
    expect(vm(resource("default.p")).configuration.value).toBe(
      '{"a":[1,1.5,1e+21,1e-7,null,true],"m":{"x":{},"y":"\\u2028"},"z":"\\u003ca\\u003e\\u0026b"}',
    );
  });

  test("failure, environment, pull policy and version", async () => {
    const { vm } = await setUp([
      plugin("p", {
        failStrategy: "FAIL_OPEN",
        imagePullPolicy: "Always",
        pluginName: "root",
        vmConfig: {
          env: [
            { name: "A", value: "1" },
            { name: "B", valueFrom: "HOST" },
          ],
        },
      }),
    ]);
    expect(vm(resource("default.p"))).toMatchObject({
      name: "default.p~istio-translated-wasmplugin",
      rootId: "root",
      failurePolicy: "FAIL_OPEN",
      configuration: {},
      vmConfig: {
        environmentVariables: {
          hostEnvKeys: ["B"],
          keyValues: {
            A: "1",
            ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always",
            ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "7",
          },
        },
      },
    });
  });
});

describe("pull secrets", () => {
  const secret = (name: string, type: string, namespace = "default"): KubeObject => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    type,
    stringData: { ".dockerconfigjson": `{"auths":{"${namespace}":{}}}` },
  });
  const docker = "kubernetes.io/dockerconfigjson";
  const pulls = async (written: string, objects: readonly KubeObject[], spec: object = {}, change?: Partial<Proxy>) => {
    const { vm } = await setUp([plugin("p", { imagePullSecret: written, ...spec }), ...objects], change);
    return vm(resource("default.p")).vmConfig.environmentVariables.keyValues.ISTIO_META_WASM_IMAGE_PULL_SECRET;
  };

  test("are found beside the plugin, whatever namespace it names", async () => {
    const both = [secret("reg", docker), secret("reg", docker, "other")];
    expect(await pulls("reg", both)).toBe('{"auths":{"default":{}}}');
    expect(await pulls("kubernetes://other/reg", both)).toBe('{"auths":{"default":{}}}');
  });

  test.each<[string, string, KubeObject[]]>([
    ["is not there", "reg", []],
    ["is of another type", "reg", [secret("reg", "Opaque")]],
    ["is a ConfigMap", "configmap://default/reg", [secret("reg", docker)]],
  ])("are empty where the secret %s", async (_, written, objects) => {
    expect(await pulls(written, objects)).toBe("");
  });

  test("are not for proxies that the plugin does not select, nor for those that proved nothing", async () => {
    const selector = { selector: { matchLabels: { app: "shop" } } };
    expect(await pulls("reg", [secret("reg", docker)], selector)).toBe("");
    expect(await pulls("reg", [secret("reg", docker)], {}, { serviceAccount: "" })).toBe("");
  });

  test("are not to be had by a variable that names them", async () => {
    const env = [{ name: "ISTIO_META_WASM_IMAGE_PULL_SECRET", value: "kubernetes://default/reg" }];
    expect(await pulls("other", [secret("reg", docker)], { vmConfig: { env } })).toBe("");
  });

  test("change what is served when they change", async () => {
    const { offline, renderer } = await setUp([plugin("p", { imagePullSecret: "reg" }), secret("reg", docker)]);
    for (const type of Object.values(types)) renderer.all(type);
    offline.source.apply([{ ...secret("reg", docker), stringData: { ".dockerconfigjson": "{}" } }]);
    expect([...renderer.refresh().keys()]).toEqual([types.extension]);
  });
});

test("a proxy cannot ask for an extension of another namespace", async () => {
  const { renderer } = await setUp([plugin("p", {}, "other"), plugin("r", {}, "istio-system")]);
  expect(renderer.get(types.extension, resource("other.p"))).toBeUndefined();
  expect(renderer.get(types.extension, resource("istio-system.r"))).toBeDefined();
});
