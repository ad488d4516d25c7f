/**
 * Virtual hosts one by one to a real Envoy: whatever changes, moves, goes, comes back or is cut, its routes end as they
 * are wanted and nothing is refused. FAIRLEAD_VHDS_STEPS makes the random life longer, FAIRLEAD_VHDS_SEED another one.
 */
import { randomUUID } from "node:crypto";
import { create, fromBinary, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { createRandom } from "../../../test/random.ts";
import { lacks } from "../../../test/require.ts";
import { type VirtualHost, VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { bytesOf, type Resource, types } from "../../model/index.ts";
import { createRpcServer } from "../../rpc/index.ts";
import { createMemorySource } from "../testing.ts";
import { createAds } from "./ads.ts";
import { closeAll, encoded, freePort, listener, open, startEnvoy, until } from "./testing-envoy.ts";

afterEach(closeAll);

/** By route, by host: its domains and what it answers. */
type World = Map<string, Map<string, { domains: string[]; answer: string }>>;

function route(name: string, hosts: ReadonlyMap<string, { domains: string[]; answer: string }>): Resource {
  const virtualHosts = [...hosts].map(([host, { domains, answer }]) => ({
    name: host,
    domains,
    routes: [
      {
        match: { pathSpecifier: { case: "prefix", value: "/" } },
        action: {
          case: "directResponse",
          value: { status: 200, body: { specifier: { case: "inlineString", value: answer } } },
        },
      } as const,
    ],
  }));
  return encoded(name, RouteConfigurationSchema, { name, virtualHosts });
}

/** As it is to be compared: hosts named as they travel, in order. */
function shown(config: RouteConfiguration): string {
  const named = ({ name, ...host }: VirtualHost): VirtualHost =>
    create(VirtualHostSchema, { ...host, name: name.startsWith(`${config.name}/`) ? name : `${config.name}/${name}` });
  const virtualHosts = config.virtualHosts.map(named).sort((a, b) => (a.name < b.name ? -1 : 1));
  const { vhds: _, ...rest } = config;
  return JSON.stringify(toJson(RouteConfigurationSchema, create(RouteConfigurationSchema, { ...rest, virtualHosts })));
}

async function liveRoutes(admin: (path: string) => Promise<string>): Promise<Map<string, string>> {
  const dump: { configs?: { route_config: JsonObject }[] } = JSON.parse(
    await admin("/config_dump?resource=dynamic_route_configs"),
  );
  const configs = (dump.configs ?? []).map(({ route_config: { "@type": _, ...config } }) =>
    fromJson(RouteConfigurationSchema, config),
  );
  return new Map(configs.map((config) => [config.name, shown(config)]));
}

async function startMesh(enabled: () => boolean = () => true) {
  const source = createMemorySource();
  const world: World = new Map();
  const ports = new Map<string, number>();
  const live = new Set<string>();
  for (const name of ["80", "8080", "a/b"]) {
    ports.set(name, await freePort());
    live.add(name);
    world.set(name, new Map());
  }
  const routes = (): Resource[] => [...world].map(([name, hosts]) => route(name, hosts));
  const put = (): void =>
    source.set({
      [types.route]: routes(),
      [types.listener]: [...live].map((name) => listener(`on-${name}`, ports.get(name) ?? 0, name)),
    });
  const serve = async (at: number) => {
    const server = createAds({
      ...{ source, identifier: "test", ready: () => true, log: silentLogger, now: () => new Date(), uuid: randomUUID },
      virtualHosts: enabled(),
    });
    const rpc = createRpcServer({ routes: server.routes(() => undefined), log: silentLogger });
    const bound = await rpc.listen({ host: "127.0.0.1", port: at });
    open.push(() => rpc.close());
    return { server, rpc, xdsPort: bound.port };
  };
  const wanted = (): Map<string, string> =>
    new Map(
      routes()
        .filter(({ name }) => live.has(name))
        .map((one) => [one.name, shown(fromBinary(RouteConfigurationSchema, bytesOf(one)))]),
    );
  const arrived = async (admin: (path: string) => Promise<string>, what: string): Promise<void> => {
    await until(
      async () => {
        const routesNow = await liveRoutes(admin);
        return [...wanted()].every(([name, config]) => routesNow.get(name) === config);
      },
      what,
      20_000,
    ).catch(async (error: unknown) => {
      expect(Object.fromEntries(await liveRoutes(admin)), what).toMatchObject(Object.fromEntries(wanted()));
      throw error;
    });
    await until(
      async () => {
        const { listener_statuses: all = [] } = JSON.parse(await admin("/listeners?format=json"));
        return [...live].every((name) => all.some((one: { name: string }) => one.name === `on-${name}`));
      },
      `listeners: ${what}`,
      20_000,
    );
  };
  return { world, live, put, serve, arrived };
}

const refused = async (admin: (path: string) => Promise<string>): Promise<string[]> =>
  (await admin("/stats?filter=update_rejected")).split("\n").filter((line) => line !== "" && !line.endsWith(": 0"));

const seed = Number(process.env.FAIRLEAD_VHDS_SEED ?? 1);
const steps = Number(process.env.FAIRLEAD_VHDS_STEPS ?? 60);

describe.skipIf(lacks("envoy"))("virtual hosts one by one", () => {
  test(`a random life, seed ${seed}`, { timeout: 300_000 + steps * 2000 }, async () => {
    const { pick, whole, chance } = createRandom(seed);
    const mesh = await startMesh();
    const { world, live, put, arrived } = mesh;
    let n = 0;
    const free = (name: string): string[] => {
      const taken = new Set([...(world.get(name)?.values() ?? [])].flatMap(({ domains }) => domains));
      return ["*", "*.wild", "pre.*", "a", "b", "c", "d", "e", "f"].filter((domain) => !taken.has(domain));
    };
    const change = (): void => {
      const name = pick([...world.keys()]);
      const hosts = world.get(name) ?? new Map();
      const [kind, host] = [whole(100), `h${whole(6)}`];
      const known = hosts.get(host);
      n++;
      if (known && kind < 30) hosts.delete(host);
      else if (known && kind < 60) hosts.set(host, { ...known, answer: `v${n}` });
      else if (known && kind < 80) {
        hosts.delete(host);
        hosts.set(`m${n % 7}`, { domains: known.domains, answer: `v${n}` });
      } else if (!known && free(name).length > 0) hosts.set(host, { domains: [pick(free(name))], answer: `v${n}` });
      const name2 = pick([...world.keys()]);
      if (chance(0.15) && !live.delete(name2)) live.add(name2);
    };
    for (let i = 0; i < 8; i++) change();
    for (const name of world.keys()) live.add(name);
    put();
    let serving = await mesh.serve(0);
    const { admin } = await startEnvoy(serving.xdsPort, "DELTA_GRPC");
    await arrived(admin, "first");
    expect(await admin("/config_dump?resource=dynamic_route_configs")).toContain('"vhds"');
    for (let step = 0; step < steps; step++) {
      for (let i = whole(4); i >= 0; i--) {
        change();
        put();
      }
      const cut = whole(100);
      if (cut < 15) {
        const [proxy] = serving.server.status();
        if (proxy) serving.server.disconnect(proxy.connectionId);
        if (cut < 7) {
          change();
          put();
        }
      } else if (cut < 20) {
        await serving.rpc.close();
        change();
        put();
        serving = await mesh.serve(serving.xdsPort);
      }
      if (chance(0.7)) await arrived(admin, `step ${step} of seed ${seed}`);
    }
    await arrived(admin, `the end of seed ${seed}`);
    expect(await refused(admin)).toEqual([]);
    await until(
      () => serving.server.status()[0]?.types.every((type) => type.ackedNonce === type.sentNonce) ?? false,
      "all to be answered",
    );
  });

  test.each([true, false])("a name that is alive stays as it is, when the setting turns (from %s)", async (first) => {
    let enabled = first;
    const mesh = await startMesh(() => enabled);
    for (const [name, hosts] of mesh.world) hosts.set("h", { domains: ["*"], answer: name });
    mesh.put();
    const before = await mesh.serve(0);
    const { admin } = await startEnvoy(before.xdsPort, "DELTA_GRPC");
    await mesh.arrived(admin, "first");
    await before.rpc.close();
    enabled = !first;
    for (const hosts of mesh.world.values()) hosts.set("i", { domains: ["i"], answer: "new" });
    mesh.put();
    await mesh.serve(before.xdsPort);
    await mesh.arrived(admin, "after the turn");
    expect((await admin("/config_dump?resource=dynamic_route_configs")).includes('"vhds"')).toBe(first);
    expect(await refused(admin)).toEqual([]);
  });
});
