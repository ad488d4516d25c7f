/** For tests: a real Envoy on a port of ours, and what it is given, as encoded resources. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { findEnvoy } from "../../../test/require.ts";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { RouterSchema } from "../../gen/envoy/extensions/filters/http/router/v3/router_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { wait } from "../../lib/index.ts";
import type { Resource } from "../../model/index.ts";
import { resource } from "../testing.ts";

export const open: (() => Promise<void> | void)[] = [];
/** Ends what a test has started, the last first. */
export async function closeAll(): Promise<void> {
  for (const end of open.splice(0).reverse()) await end();
}

export function encoded<D extends DescMessage>(
  name: string,
  schema: D,
  init: MessageInitShape<D>,
  needs: readonly string[] = [],
): Resource {
  return resource(name, toBinary(schema, create(schema, init)), needs);
}

export const ads = { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: 2 } as const;

export const socket = (port: number) =>
  ({
    address: {
      case: "socketAddress",
      value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } },
    },
  }) as const;

export function listener(name: string, port: number, routes = "routes"): Resource {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "test",
    routeSpecifier: { case: "rds", value: { routeConfigName: routes, configSource: ads } },
    httpFilters: [
      {
        name: "envoy.filters.http.router",
        configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) },
      },
    ],
  });
  const filter = {
    name: "envoy.filters.network.http_connection_manager",
    configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) },
  } as const;
  return encoded(name, ListenerSchema, { name, address: socket(port), filterChains: [{ filters: [filter] }] });
}

const sidecar = {
  id: "sidecar~127.0.0.1~pod.default~default.svc.cluster.local",
  cluster: "test",
  metadata: { NAMESPACE: "default" },
};

export interface RunningEnvoy {
  readonly admin: (path: string) => Promise<string>;
  /** Reads nothing and answers nothing while this is done. */
  readonly whileStopped: (work: () => Promise<void>) => Promise<void>;
}

export async function startEnvoy(
  xdsPort: number,
  apiType: "GRPC" | "DELTA_GRPC",
  node: { readonly id: string; readonly cluster: string; readonly metadata: object } = sidecar,
): Promise<RunningEnvoy> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-envoy-"));
  open.push(() => rmSync(dir, { recursive: true, force: true }));
  const bootstrap = {
    node,
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: 0 } } },
    dynamic_resources: {
      ads_config: {
        api_type: apiType,
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "xds" } }],
      },
      cds_config: { ads: {}, resource_api_version: "V3" },
      lds_config: { ads: {}, resource_api_version: "V3" },
    },
    static_resources: {
      clusters: [
        {
          name: "xds",
          type: "STATIC",
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          load_assignment: {
            cluster_name: "xds",
            endpoints: [
              {
                lb_endpoints: [
                  { endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: xdsPort } } } },
                ],
              },
            ],
          },
        },
      ],
    },
  };
  writeFileSync(join(dir, "bootstrap.json"), JSON.stringify(bootstrap));
  const addressFile = join(dir, "admin");
  const args = [
    "-c",
    join(dir, "bootstrap.json"),
    "--use-dynamic-base-id",
    "--drain-time-s",
    "1",
    "--concurrency",
    "1",
    "-l",
    "error",
    "--admin-address-path",
    addressFile,
  ];
  const envoy: ChildProcess = spawn(findEnvoy() ?? "envoy", args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  envoy.stderr?.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  open.push(async () => {
    if (envoy.exitCode !== null) return;
    envoy.kill("SIGKILL");
    await once(envoy, "exit");
  });
  const deadline = Date.now() + patienceMs;
  const admin = async (path: string): Promise<string> =>
    (await fetch(`http://${readFileSync(addressFile, "utf8")}${path}`)).text();
  const whileStopped = async (work: () => Promise<void>): Promise<void> => {
    envoy.kill("SIGSTOP");
    await work().finally(() => envoy.kill("SIGCONT"));
  };
  for (;;) {
    if (envoy.exitCode !== null || Date.now() > deadline)
      throw new Error(`Envoy did not become ready: ${said.slice(0, 4000)}`);
    if (
      await admin("/ready").then(
        (state) => state.startsWith("LIVE"),
        () => false,
      )
    )
      return { admin, whileStopped };
    await wait(50);
  }
}

/** Only what hangs should meet it: a machine may be busy with other things. */
const patienceMs = 120_000;

export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await wait(10);
  }
}
