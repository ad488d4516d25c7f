/** Patches on a running Envoy: what EnvoyFilters and TrafficExtensions put into it works on requests. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { lacks } from "../require.ts";
import type { Backend } from "./backend.ts";
import type { HttpCall } from "./caller.ts";
import { eventually, serviceOf, startTrafficMesh, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";

const manager = "envoy.filters.network.http_connection_manager";
const lua = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";
const adds = (value: string): string => `function envoy_on_request(h) h:headers():add("x-patched", "${value}") end`;

function filter(name: string, ...configPatches: readonly object[]): KubeObject {
  const metadata = { name, namespace: "default" };
  return { apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter", metadata, spec: { configPatches } };
}

/** Before the router of what goes out. */
const inserts = (value: object) => ({
  applyTo: "HTTP_FILTER",
  match: {
    context: "SIDECAR_OUTBOUND",
    listener: { filterChain: { filter: { name: manager, subFilter: { name: "envoy.filters.http.router" } } } },
  },
  patch: { operation: "INSERT_BEFORE", value },
});

const extensionConfig = (name: string, code: string) => ({
  applyTo: "EXTENSION_CONFIG",
  patch: {
    operation: "ADD",
    value: { name, typedConfig: { "@type": lua, defaultSourceCode: { inlineString: code } } },
  },
});

describe.skipIf(lacks("root", "envoy", "iptables"))("a running Envoy", () => {
  let mesh: TrafficMesh;
  let client: TrafficProxy;
  let server: Backend;
  let web: HttpCall;

  beforeAll(async () => {
    mesh = await startTrafficMesh();
    server = await mesh.backend("a");
    web = { address: mesh.serviceAddress(), port: 80, host: "web" };
    await mesh.apply(...serviceOf("web", { address: web.address, backends: [server] }));
    client = await mesh.proxy("sidecar", "client");
  });
  afterAll(() => mesh?.close());
  afterEach(() => {
    server.seen.length = 0;
    expect(mesh.controlPlane.refusals()).toEqual([]);
  });

  const patched = async (): Promise<unknown> => {
    await client.caller.request(web);
    return server.seen.at(-1)?.headers["x-patched"];
  };

  test("is patched once the types are loaded, and again as it was when the filter is gone", async () => {
    const inline = filter(
      "inline",
      inserts({ name: "lua", typedConfig: { "@type": lua, inlineCode: adds("inline") } }),
    );
    await mesh.apply(inline);
    await eventually(async () => (await patched()) === "inline", "the patch");
    await mesh.remove(inline);
    await eventually(async () => (await patched()) === undefined, "the patch to go");
  });

  test("asks for a filter by discovery, and follows its changes", async () => {
    const source = { configSource: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" }, typeUrls: [lua] };
    const discovers = inserts({ name: "found", configDiscovery: source });
    await mesh.apply(filter("ecds", extensionConfig("found", adds("one")), discovers));
    await eventually(async () => (await patched()) === "one", "the extension");
    await mesh.apply(filter("ecds", extensionConfig("found", adds("two")), discovers));
    await eventually(async () => (await patched()) === "two", "its change");
    await mesh.remove(filter("ecds"));
  });

  test("gets a cluster, a virtual host and a route of its own", async () => {
    const cluster = {
      name: "extra",
      type: "STATIC",
      connectTimeout: "1s",
      loadAssignment: {
        clusterName: "extra",
        endpoints: [
          { lbEndpoints: [{ endpoint: { address: { socketAddress: { address: server.address, portValue: 8080 } } } }] },
        ],
      },
    };
    const host = {
      name: "extra",
      domains: ["extra"],
      routes: [{ match: { prefix: "/" }, route: { cluster: "extra" } }],
    };
    const ping = { match: { path: "/ping" }, directResponse: { status: 418 } };
    const routes = { context: "SIDECAR_OUTBOUND", routeConfiguration: { portNumber: 80 } };
    await mesh.apply(
      filter(
        "extra",
        { applyTo: "CLUSTER", patch: { operation: "ADD", value: cluster } },
        { applyTo: "VIRTUAL_HOST", match: routes, patch: { operation: "ADD", value: host } },
        { applyTo: "HTTP_ROUTE", match: routes, patch: { operation: "INSERT_FIRST", value: ping } },
      ),
    );
    await eventually(
      async () => (await client.caller.request({ ...web, host: "extra" })).status === 200,
      "the added host",
    );
    expect((await client.caller.request({ ...web, path: "/ping" })).status).toBe(418);
    expect((await client.caller.request(web)).status).toBe(200);
    await mesh.remove(filter("extra"));
  });

  test("keeps working beside patches that cannot apply", async () => {
    await mesh.apply(
      filter(
        "bad",
        inserts({ name: "x", typedConfig: { "@type": "type.googleapis.com/no.Such" } }),
        inserts({ name: "y", typedConfig: { "@type": lua, inlineCode: 7 } }),
        inserts({ name: "lua", typedConfig: { "@type": lua, inlineCode: adds("rest") } }),
      ),
    );
    await eventually(async () => (await patched()) === "rest", "the good patch");
    await mesh.remove(filter("bad"));
  });

  test("runs the Lua of a TrafficExtension for clients", async () => {
    const extension: KubeObject = {
      apiVersion: "extensions.istio.io/v1alpha1",
      kind: "TrafficExtension",
      metadata: { name: "lua", namespace: "default" },
      spec: { match: [{ mode: "CLIENT" }], lua: { inlineCode: adds("extension") } },
    };
    await mesh.apply(extension);
    await eventually(async () => (await patched()) === "extension", "the extension");
    await mesh.remove(extension);
  });
});
