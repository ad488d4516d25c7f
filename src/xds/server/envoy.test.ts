/** A real Envoy on our ADS server, both variants: it becomes ready, refuses nothing, and drops no request while routes flip. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, describe, expect, test } from "vitest";
import { findEnvoy, lacks } from "../../../test/require.ts";
import { Cluster_DiscoveryType, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { RouterSchema } from "../../gen/envoy/extensions/filters/http/router/v3/router_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { silentLogger, wait } from "../../lib/index.ts";
import { type Resource, types } from "../../model/index.ts";
import { createRpcServer } from "../../rpc/index.ts";
import { createMemorySource, resource } from "../testing.ts";
import { type Ads, createAds } from "./ads.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

function encoded<D extends DescMessage>(
  name: string,
  schema: D,
  init: MessageInitShape<D>,
  needs: readonly string[] = [],
): Resource {
  return resource(name, toBinary(schema, create(schema, init)), needs);
}

const ads = { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: 2 } as const;

const cluster = (name: string): Resource =>
  encoded(
    name,
    ClusterSchema,
    {
      name,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      edsClusterConfig: { edsConfig: ads },
      connectTimeout: create(DurationSchema, { seconds: 1n }),
    },
    [name],
  );

const endpoints = (clusterName: string, port: number): Resource =>
  encoded(clusterName, ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: { address: socket(port) } } }] }],
  });

const socket = (port: number) =>
  ({
    address: {
      case: "socketAddress",
      value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: port } },
    },
  }) as const;

const route = (name: string, target: string): Resource =>
  encoded(
    name,
    RouteConfigurationSchema,
    {
      name,
      virtualHosts: [
        {
          name: "all",
          domains: ["*"],
          routes: [
            {
              match: { pathSpecifier: { case: "prefix", value: "/" } },
              action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: target } } },
            },
          ],
        },
      ],
    },
    [target],
  );

function listener(name: string, port: number): Resource {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "test",
    routeSpecifier: { case: "rds", value: { routeConfigName: "routes", configSource: ads } },
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

async function startBackend(answer: string): Promise<number> {
  const server = http.createServer((_request, response) => response.end(answer));
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function startEnvoy(
  xdsPort: number,
  apiType: "GRPC" | "DELTA_GRPC",
): Promise<{ admin: (path: string) => Promise<string> }> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-envoy-"));
  open.push(() => rmSync(dir, { recursive: true, force: true }));
  const bootstrap = {
    node: {
      id: "sidecar~127.0.0.1~pod.default~default.svc.cluster.local",
      cluster: "test",
      metadata: { NAMESPACE: "default" },
    },
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
  const deadline = Date.now() + 20_000;
  const admin = async (path: string): Promise<string> =>
    (await fetch(`http://${readFileSync(addressFile, "utf8")}${path}`)).text();
  for (;;) {
    if (envoy.exitCode !== null || Date.now() > deadline)
      throw new Error(`Envoy did not become ready: ${said.slice(0, 4000)}`);
    if (
      await admin("/ready").then(
        (state) => state.startsWith("LIVE"),
        () => false,
      )
    )
      return { admin };
    await wait(50);
  }
}

/** Requests without pause on a few connections; what each was answered is counted. */
function startTraffic(port: number): { answers: Map<string, number>; stop: () => Promise<void> } {
  const answers = new Map<string, number>();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  let going = true;
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const note = (answer: string): void => {
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
        resolve();
      };
      const request = http.get({ host: "127.0.0.1", port, agent }, (response) => {
        let body = "";
        response.on("data", (chunk) => {
          body += chunk;
        });
        response.on("end", () => note(response.statusCode === 200 ? body : `${response.statusCode} ${body}`));
      });
      request.on("error", (error) => note(`lost: ${error.message}`));
    });
  const worker = async (): Promise<void> => {
    while (going) await one();
  };
  const workers = Array.from({ length: 4 }, worker);
  return {
    answers,
    async stop() {
      going = false;
      await Promise.all(workers);
      agent.destroy();
    },
  };
}

async function until(condition: () => boolean | Promise<boolean>, what: string, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await wait(10);
  }
}

const inSync = (server: Ads): boolean => {
  const [proxy] = server.status();
  return (
    proxy !== undefined &&
    proxy.held.length === 0 &&
    proxy.types.length >= 4 &&
    proxy.types.every((type) => type.ackedNonce === type.sentNonce && type.sentNonce !== "")
  );
};

/** A control plane with its source, a listener and two backends; it can go and come back on the same port. */
async function startMesh() {
  const source = createMemorySource();
  const backends = [await startBackend("even"), await startBackend("odd")];
  const port = await freePort();
  const nameOf = (generation: number): string => `outbound|80||v${generation}.default.svc.cluster.local`;
  const put = (generation: number, change: { cluster?: (name: string) => Resource } = {}): void => {
    const name = nameOf(generation);
    source.set({
      [types.cluster]: [(change.cluster ?? cluster)(name)],
      [types.endpoint]: [endpoints(name, backends[generation % 2] ?? 0)],
      [types.listener]: [listener("in", port)],
      [types.route]: [route("routes", name)],
    });
  };
  const serve = async (at: number) => {
    const server = createAds({
      source,
      identifier: "test",
      ready: () => true,
      log: silentLogger,
      now: () => new Date(),
      uuid: randomUUID,
      limits: { drainMs: 200 },
    });
    const rpc = createRpcServer({ routes: server.routes(() => undefined), log: silentLogger });
    const bound = await rpc.listen({ host: "127.0.0.1", port: at });
    open.push(() => rpc.close());
    return { server, rpc, xdsPort: bound.port };
  };
  return { source, port, put, serve, nameOf };
}

const variants = [
  ["GRPC", "sotw"],
  ["DELTA_GRPC", "delta"],
] as const;

describe.skipIf(lacks("envoy"))("Envoy", () => {
  test.each(variants)(
    "%s: ready, nothing refused, and no request lost while route and cluster flip",
    async (apiType, variant) => {
      const { source, port, put, serve } = await startMesh();
      put(0);
      const { server, xdsPort } = await serve(0);
      const { admin } = await startEnvoy(xdsPort, apiType);
      expect(source.connected[0]?.extensions.size).toBeGreaterThan(100);
      expect(source.connected[0]?.userAgent).toMatch(/^envoy 1\.\d+/);
      await until(() => inSync(server), "first config");
      expect(server.status()[0]?.variant).toBe(variant);

      const traffic = startTraffic(port);
      await until(() => traffic.answers.has("even"), "first answer");
      for (let generation = 1; generation <= 30; generation++) {
        put(generation);
        const wanted = generation % 2 === 0 ? "even" : "odd";
        const before = traffic.answers.get(wanted) ?? 0;
        await until(() => inSync(server) && (traffic.answers.get(wanted) ?? 0) > before, `generation ${generation}`);
      }
      await traffic.stop();
      expect([...traffic.answers.keys()].sort()).toEqual(["even", "odd"]);

      const stats = await admin("/stats?filter=update_rejected|update_failure|warming_clusters|no_cluster|no_route");
      const wrong = stats.split("\n").filter((line) => line !== "" && !line.endsWith(": 0"));
      expect(wrong).toEqual([]);
      await until(async () => !(await admin("/clusters")).includes("v29.default"), "the last cluster to go");
      expect(await admin("/clusters")).toContain("v30.default");
    },
  );

  test.each(variants)(
    "%s: a cluster that Envoy refuses holds back its route; the old one serves on, and a better one frees it",
    async (apiType) => {
      const { port, put, serve, nameOf } = await startMesh();
      put(0);
      const { server, xdsPort } = await serve(0);
      await startEnvoy(xdsPort, apiType);
      await until(() => inSync(server), "first config");
      const traffic = startTraffic(port);
      await until(() => traffic.answers.has("even"), "first answer");

      const bad = (name: string): Resource =>
        encoded(name, ClusterSchema, {
          name,
          clusterDiscoveryType: { case: "clusterType", value: { name: "no.such.kind" } },
        });
      put(1, { cluster: bad });
      await until(() => server.status()[0]?.held[0]?.ended === true, "the route to be held back");
      const [proxy] = server.status();
      expect(proxy?.held).toMatchObject([{ type: types.route, name: "routes", clusters: [nameOf(1)] }]);
      expect(proxy?.types.find((type) => type.type === types.cluster)).toMatchObject({
        refused: [nameOf(1)],
        lastError: expect.stringContaining(nameOf(1)),
      });
      const before = traffic.answers.get("even") ?? 0;
      await until(() => (traffic.answers.get("even") ?? 0) > before + 20, "the old route to serve on");

      put(1);
      await until(() => inSync(server) && traffic.answers.has("odd"), "the mended cluster");
      expect(server.status()[0]?.types.flatMap((type) => type.refused)).toEqual([]);
      await traffic.stop();
      expect([...traffic.answers.keys()].sort()).toEqual(["even", "odd"]);
    },
  );

  // State of the world leaves no way: a whole set of clusters without the old ones deletes them before the routes turn.
  test("delta: a control plane that comes back with other routes and clusters costs no request", async () => {
    const { port, put, serve } = await startMesh();
    put(0);
    const first = await serve(0);
    await startEnvoy(first.xdsPort, "DELTA_GRPC");
    await until(() => inSync(first.server), "first config");
    const traffic = startTraffic(port);
    await until(() => traffic.answers.has("even"), "first answer");
    await first.rpc.close();
    put(1);
    const second = await serve(first.xdsPort);
    await until(() => inSync(second.server) && traffic.answers.has("odd"), "the config of the second", 20_000);
    await traffic.stop();
    expect([...traffic.answers.keys()].sort()).toEqual(["even", "odd"]);
  });
});
