/** A real Envoy on our ADS server, both variants: it becomes ready, refuses nothing, and drops no request while routes flip. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromBinary } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "../../../test/free-ports.ts";
import { lacks } from "../../../test/require.ts";
import {
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { envoyTypes, type Resource, types } from "../../model/index.ts";
import { createRpcServer, type Route, RpcError, status } from "../../rpc/index.ts";
import { parseNode } from "../node/node.ts";
import { createMemorySource } from "../testing.ts";
import { shortName } from "../type-info.ts";
import { type Ads, createAds } from "./ads.ts";
import { createReadSimple } from "./simple-request.ts";
import { ads, closeAll, encoded, listener, open, socket, startEnvoy, until } from "./testing-envoy.ts";

afterEach(closeAll);

const cluster = (name: string, seconds = 1n): Resource =>
  encoded(
    name,
    ClusterSchema,
    {
      name,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      // As Istio has it: Envoy waits for endpoints for as long as it takes.
      edsClusterConfig: { edsConfig: { ...ads, initialFetchTimeout: create(DurationSchema) } },
      connectTimeout: create(DurationSchema, { seconds }),
    },
    [name],
  );

const ring = (name: string, minimum: bigint, maximum: bigint): Resource =>
  encoded(name, ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
    connectTimeout: create(DurationSchema, { seconds: 1n }),
    lbPolicy: Cluster_LbPolicy.RING_HASH,
    lbConfig: {
      case: "ringHashLbConfig",
      value: { minimumRingSize: minimum, maximumRingSize: maximum },
    },
  });

const endpoints = (clusterName: string, port: number): Resource =>
  encoded(clusterName, ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: { address: socket(port) } } }] }],
  });

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
  /** `isLost` is asked about each message: at the first of which it says so the stream is lost instead. */
  const serve = async (at: number, isLost: (message: string) => boolean = () => false) => {
    const server = createAds({
      source,
      identifier: "test",
      ready: () => true,
      log: silentLogger,
      now: () => new Date(),
      uuid: randomUUID,
      limits: { drainMs: 200 },
    });
    const heard: Buffer[] = [];
    const routes = server.routes(() => undefined).map((one) => losing(hearing(one, heard), isLost));
    const rpc = createRpcServer({ routes, log: silentLogger });
    const bound = await rpc.listen({ host: "127.0.0.1", port: at });
    open.push(() => rpc.close());
    return { server, rpc, xdsPort: bound.port, heard };
  };
  return { source, port, put, serve, nameOf };
}

/** Requests are noted as they come. */
function hearing(route: Route, heard: Buffer[]): Route {
  return {
    path: route.path,
    serve: (call) =>
      route.serve({
        ...call,
        each: (take, options) =>
          call.each((bytes) => {
            heard.push(Buffer.from(bytes));
            return take(bytes);
          }, options),
      }),
  };
}

function losing(route: Route, isLost: (message: string) => boolean): Route {
  return {
    path: route.path,
    serve: (call) =>
      route.serve({
        ...call,
        send(message) {
          if (isLost(Buffer.concat(message).toString("latin1"))) throw new RpcError(status.unavailable, "lost");
          return call.send(message);
        },
      }),
  };
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
        refused: new Map([[nameOf(1), expect.stringContaining(nameOf(1))]]),
        lastError: expect.stringContaining(nameOf(1)),
      });
      const before = traffic.answers.get("even") ?? 0;
      await until(() => (traffic.answers.get("even") ?? 0) > before + 20, "the old route to serve on");

      put(1);
      await until(() => inSync(server) && traffic.answers.has("odd"), "the mended cluster");
      expect(server.status()[0]?.types.flatMap((type) => [...type.refused])).toEqual([]);
      await traffic.stop();
      expect([...traffic.answers.keys()].sort()).toEqual(["even", "odd"]);
    },
  );

  describe.each(variants)("%s: a stream that is lost between a changed cluster and its endpoints", (apiType) => {
    /** Until the proxy is back; `meanwhile` is what happens before it is. */
    async function loseEndpoints(meanwhile: (mesh: Awaited<ReturnType<typeof startMesh>>) => void) {
      const mesh = await startMesh();
      mesh.put(0);
      let armed = false;
      const { server, xdsPort } = await mesh.serve(0, (message) => {
        const isLost = armed && message.includes(types.endpoint);
        if (isLost) armed = false;
        if (isLost) setImmediate(() => meanwhile(mesh));
        return isLost;
      });
      const { admin } = await startEnvoy(xdsPort, apiType);
      await until(() => inSync(server), "first config");
      armed = true;
      mesh.source.set({ [types.cluster]: [cluster(mesh.nameOf(0), 2n)] });
      await until(() => !armed && inSync(server), "the proxy to come back");
      expect(await admin("/stats?filter=cluster_manager.warming_clusters")).toContain(": 0");
      return admin("/config_dump?resource=dynamic_active_clusters");
    }

    test("leaves the new cluster in use", async () => {
      expect(await loseEndpoints(() => {})).toContain('"connect_timeout": "2s"');
    });

    test("leaves the old one in use where the change is taken back meanwhile", async () => {
      const active = await loseEndpoints(({ source, nameOf }) => source.set({ [types.cluster]: [cluster(nameOf(0))] }));
      expect(active).toContain('"connect_timeout": "1s"');
    });
  });

  test("delta: an Envoy that waits for nothing asks for clusters first, and is sent nothing again", async () => {
    const { put, serve, nameOf } = await startMesh();
    put(0);
    const first = await serve(0);
    await startEnvoy(first.xdsPort, "DELTA_GRPC");
    await until(() => inSync(first.server), "first config");
    await first.rpc.close();
    const told: string[] = [];
    const second = await serve(first.xdsPort, (message) => {
      const types = envoyTypes.filter((type) => message.includes(type));
      told.push(...types.map(shortName), ...(message.includes(nameOf(0)) ? [nameOf(0)] : []));
      return false;
    });
    await until(() => inSync(second.server), "the proxy to come back");
    expect(told).toEqual(["CDS", "EDS", "LDS", "RDS"]);
  });

  test("delta: a listener that changes is used with the routes that Envoy has", async () => {
    const { source, put, serve } = await startMesh();
    put(0);
    const told: string[] = [];
    const { server, xdsPort } = await serve(0, (message) => {
      told.push(...envoyTypes.filter((type) => message.includes(type)).map(shortName));
      return false;
    });
    await startEnvoy(xdsPort, "DELTA_GRPC");
    await until(() => inSync(server), "first config");
    told.length = 0;
    const port = await freePort();
    source.set({ [types.listener]: [listener("in", port)] });
    await until(() => inSync(server), "the other listener");
    const traffic = startTraffic(port);
    await until(() => traffic.answers.has("even"), "an answer on the other port");
    await traffic.stop();
    expect(told).toEqual(["LDS"]);
  });

  test("delta: all that it says while it takes what it is sent is read without the decoder", async () => {
    const { put, serve } = await startMesh();
    put(0);
    const { server, xdsPort, heard } = await serve(0);
    await startEnvoy(xdsPort, "DELTA_GRPC");
    await until(() => inSync(server), "first config");
    const read = createReadSimple();
    const [first] = heard;
    expect(heard.filter((request) => !read(request))).toEqual([]);
    if (!first) throw new Error("nothing was heard");
    const { node } = fromBinary(DeltaDiscoveryRequestSchema, first);
    expect(parseNode(read(first)?.node)).toEqual(parseNode(node));
  });

  test.each(variants)("%s: a cluster that it has half-made stays refused, and does not silence it", async (apiType) => {
    const { source, serve } = await startMesh();
    source.set({ [types.cluster]: [], [types.listener]: [] });
    const { server, xdsPort } = await serve(0);
    const { whileStopped } = await startEnvoy(xdsPort, apiType);
    const progress = () => [...server.refusingProgress({ has: () => true })][0];
    const isSettled = (): boolean => progress()?.isSettled() === true;
    await until(isSettled, "first config");
    const sent = () => server.status()[0]?.types.find(({ type }) => type === types.cluster)?.sentVersion;
    const [bad, good, later] = [ring("bad", 100n, 10n), ring("good", 10n, 100n), ring("later", 10n, 100n)];
    // It answers the first when the second is on its way.
    await whileStopped(async () => {
      for (const clusters of [[bad], [bad, good]]) {
        const before = sent();
        source.set({ [types.cluster]: clusters });
        await until(() => sent() !== before, "clusters sent");
      }
    });
    await until(isSettled, "its answers");
    expect(progress()?.of(types.cluster, good)).toBe("has");
    expect(progress()?.of(types.cluster, bad)).toBe("refused");
    expect(progress()?.words(types.cluster, "bad")).toContain("minimum_ring_size");

    const worse = ring("bad", 1000n, 10n);
    source.set({ [types.cluster]: [worse, good] });
    await until(() => isSettled() && progress()?.of(types.cluster, worse) === "refused", "the next refusal");
    source.set({ [types.cluster]: [worse, good, later] });
    await until(() => isSettled() && progress()?.of(types.cluster, later) === "has", "a later cluster");
    expect(progress()?.of(types.cluster, worse)).toBe("refused");
  });

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
    await until(() => inSync(second.server) && traffic.answers.has("odd"), "the config of the second");
    await traffic.stop();
    expect([...traffic.answers.keys()].sort()).toEqual(["even", "odd"]);
  });
});
