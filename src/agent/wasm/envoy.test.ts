/** A real Envoy runs a module that its agent fetched for it, and is told by a stand-in where there is none. */
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lacks } from "../../../test/require.ts";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { RouterSchema } from "../../gen/envoy/extensions/filters/http/router/v3/router_pb.js";
import { WasmSchema } from "../../gen/envoy/extensions/filters/http/wasm/v3/wasm_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { FailurePolicy } from "../../gen/envoy/extensions/wasm/v3/wasm_pb.js";
import { types } from "../../model/index.ts";
import { type AgentHarness, createAgentHarness, eventually, httpStatus, type Sent } from "../testing.ts";
import { answeringModule, artifactImage, startTestServer, type TestServer } from "./testing.ts";

/** As the played control plane names the first resource of a type. */
const extension = "r0";

function listener(port: number): Uint8Array {
  const typeUrls = ["wasm.v3.Wasm", "rbac.v3.RBAC"].map(
    (one) => `type.googleapis.com/envoy.extensions.filters.http.${one}`,
  );
  const ads = { configSourceSpecifier: { case: "ads" as const, value: {} }, resourceApiVersion: 2 };
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "in",
    routeSpecifier: {
      case: "routeConfig",
      value: {
        virtualHosts: [
          {
            name: "all",
            domains: ["*"],
            routes: [
              {
                match: { pathSpecifier: { case: "prefix", value: "/" } },
                action: { case: "directResponse", value: { status: 200 } },
              },
            ],
          },
        ],
      },
    },
    httpFilters: [
      { name: extension, configType: { case: "configDiscovery", value: { configSource: ads, typeUrls } } },
      {
        name: "envoy.filters.http.router",
        configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) },
      },
    ],
  });
  const message = create(ListenerSchema, {
    name: "in",
    address: {
      address: {
        case: "socketAddress",
        value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } },
      },
    },
    filterChains: [
      {
        filters: [
          { name: "hcm", configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } },
        ],
      },
    ],
  });
  return toBinary(ListenerSchema, message);
}

function plugin(uri: string, failurePolicy = FailurePolicy.FAIL_CLOSED): Uint8Array {
  const remote = { httpUri: { uri, httpUpstreamType: { case: "cluster" as const, value: "_" } } };
  const filter = create(WasmSchema, {
    config: {
      name: "p",
      failurePolicy,
      vm: {
        case: "vmConfig",
        value: { runtime: "envoy.wasm.runtime.v8", code: { specifier: { case: "remote", value: remote } } },
      },
    },
  });
  const typedConfig = anyPack(WasmSchema, filter);
  return toBinary(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name: extension, typedConfig }));
}

describe.skipIf(lacks("envoy"))("a plugin with a remote module", () => {
  let server: TestServer;
  let harness: AgentHarness;

  beforeEach(async () => {
    server = await startTestServer();
    harness = await createAgentHarness();
  });
  afterEach(async () => {
    await harness.close();
    await server.close();
  });

  const sent = (config: Uint8Array): Sent =>
    new Map([
      [types.listener, [listener(harness.ports.listener)]],
      [types.extension, [config]],
    ]);
  const answers = (wanted: number) =>
    eventually(
      () => httpStatus(harness.ports.listener, "/"),
      ({ status }) => status === wanted,
    );

  test("is run by Envoy; the agent's figures tell of it", async () => {
    server.push("team/filter", "v1", artifactImage(answeringModule(418)));
    harness.send(sent(plugin(`oci://${server.host}/team/filter:v1`)));
    void harness.start();
    await answers(418);
    const { body } = await httpStatus(harness.ports.status, "/stats/prometheus");
    expect(body).toContain('istio_agent_wasm_remote_fetch_count{result="success"} 1');
    expect(body).toContain("istio_agent_wasm_cache_entries 1");
  });

  test("whose module is missing refuses everything", async () => {
    harness.send(sent(plugin(`http://${server.host}/missing`)));
    void harness.start();
    await answers(403);
  });

  test("that fails open lets everything through without its module", async () => {
    harness.send(sent(plugin(`http://${server.host}/missing`, FailurePolicy.FAIL_OPEN)));
    void harness.start();
    await answers(200);
  });
});
