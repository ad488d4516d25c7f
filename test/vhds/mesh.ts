/** Routes in memory and their listeners; served to Envoys, and what these have come to hold. */
import { randomUUID } from "node:crypto";
import { fromBinary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../src/gen/envoy/config/route/v3/route_pb.js";
import { silentLogger } from "../../src/lib/index.ts";
import { types } from "../../src/model/index.ts";
import { createRpcServer } from "../../src/rpc/index.ts";
import { noMetrics, type XdsMetrics } from "../../src/xds/metrics.ts";
import { createAds } from "../../src/xds/server/ads.ts";
import { listener, open } from "../../src/xds/server/testing-envoy.ts";
import { createMemorySource } from "../../src/xds/testing.ts";
import { type Host, isBad, routeResource, type State, shown, shownRoute } from "./world.ts";

export type Admin = (path: string) => Promise<string>;

export interface Serving {
  readonly port: number;
  disconnectAll(): void;
  /** A route configuration as the control plane says that its first proxy has it. */
  shown(name: string): RouteConfiguration;
  /** Whether each proxy has answered all it was sent. */
  isAnswered(): boolean;
  /** By type, as metrics call it. */
  sentBytes(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export interface Mesh {
  readonly names: readonly string[];
  readonly hosts: ReadonlyMap<string, Map<string, Host>>;
  readonly live: Set<string>;
  /** What is in `hosts` and `live` is wanted from now on. */
  put(): void;
  /** All that was ever wanted of a route, the oldest first. */
  states(name: string): readonly State[];
  serve(port: number): Promise<Serving>;
  /** What is not as it is wanted, for each such route; where Envoy must refuse what is wanted, nothing is said. */
  behind(admin: Admin): Promise<readonly string[]>;
}

export function createMesh(
  names: readonly string[],
  portOf: (name: string) => readonly number[],
  enabled: () => boolean = () => true,
): Mesh {
  const source = createMemorySource();
  const hosts: Mesh["hosts"] = new Map(names.map((name) => [name, new Map()]));
  const live = new Set(names);
  const history = new Map<string, State[]>(names.map((name) => [name, []]));
  const last = (name: string): State => history.get(name)?.at(-1) ?? { hosts: new Map(), live: false };
  return {
    names,
    hosts,
    live,
    put() {
      for (const name of names)
        history.get(name)?.push({ hosts: new Map(hosts.get(name) ?? []), live: live.has(name) });
      source.set({
        [types.route]: names.map((name) => routeResource(name, last(name).hosts)),
        [types.listener]: [...live].flatMap((name) => portOf(name).map((port) => listener(`on-${port}`, port, name))),
      });
    },
    states: (name) => history.get(name) ?? [],
    async serve(port) {
      const sent = new Map<string, number>();
      const metrics: XdsMetrics = {
        ...noMetrics,
        observe(name, value, { type = "" } = {}) {
          if (name === "pilot_xds_config_size_bytes") sent.set(type, (sent.get(type) ?? 0) + value);
        },
      };
      const server = createAds({
        ...{ source, identifier: "test", ready: () => true, log: silentLogger, now: () => new Date() },
        uuid: randomUUID,
        virtualHosts: enabled(),
        metrics,
      });
      const rpc = createRpcServer({ routes: server.routes(() => undefined), log: silentLogger });
      const bound = await rpc.listen({ host: "127.0.0.1", port });
      open.push(() => rpc.close());
      return {
        port: bound.port,
        disconnectAll() {
          for (const { connectionId } of server.status()) server.disconnect(connectionId);
        },
        shown: (name) =>
          fromBinary(
            RouteConfigurationSchema,
            server.shownRoute(server.status()[0]?.connectionId ?? "", routeResource(name, last(name).hosts)),
          ),
        isAnswered: () =>
          server.status().every((proxy) => proxy.types.every((type) => type.ackedNonce === type.sentNonce)),
        sentBytes: () => sent,
        close: () => rpc.close(),
      };
    },
    async behind(admin) {
      const held = await liveRoutes(admin);
      const listening = await listeners(admin);
      return names.flatMap((name) => {
        const state = last(name);
        if (!state.live) return [];
        if (!portOf(name).every((port) => listening.has(`on-${port}`))) return [`no listener for ${name}`];
        const wanted = shownRoute(routeResource(name, state.hosts));
        return isBad(state) || held.get(name) === wanted ? [] : [`${held.get(name)} instead of ${wanted}`];
      });
    },
  };
}

async function liveRoutes(admin: Admin): Promise<ReadonlyMap<string, string>> {
  return new Map((await dumpedRoutes(admin)).map((config) => [config.name, shown(config)]));
}

/** As Envoy shows them. */
export async function dumpedRoutes(admin: Admin): Promise<readonly RouteConfiguration[]> {
  const text = await admin("/config_dump?resource=dynamic_route_configs");
  // Before there are any, Envoy says so in words.
  const dump: { configs?: { route_config: JsonObject }[] } = text.startsWith("{") ? JSON.parse(text) : {};
  return (dump.configs ?? []).map(({ route_config: { "@type": _, ...config } }) =>
    fromJson(RouteConfigurationSchema, config),
  );
}

async function listeners(admin: Admin): Promise<ReadonlySet<string>> {
  const { listener_statuses: all = [] }: { listener_statuses?: { name: string }[] } = JSON.parse(
    await admin("/listeners?format=json"),
  );
  return new Set(all.map(({ name }) => name));
}

/** How many responses Envoy has refused. */
export async function refusals(admin: Admin): Promise<number> {
  const lines = (await admin("/stats?filter=update_rejected")).split("\n").filter((line) => line !== "");
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
