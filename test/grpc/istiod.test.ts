/**
 * What gRPC clients and servers are told over ADS, name by name, as istiod (86c9f01) told them with the same objects. It
 * adds listeners that nobody asked for (every name with every port); these are left out here.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseYaml, silentLogger } from "../../src/lib/index.ts";
import { type KubeObject, type ResourceType, types } from "../../src/model/index.ts";
import { createJsonPrinter } from "../../src/render/index.ts";
import { createRpcClient, createRpcServer, type RpcClient, type RpcServer } from "../../src/rpc/index.ts";
import { askOnce } from "../../src/xds/client/client.ts";
import { type ControlPlane, createControlPlane } from "../traffic/control-plane.ts";

type Resource = Readonly<Record<string, unknown>>;
type ByType<T> = Readonly<Record<string, Readonly<Record<string, readonly T[]>>>>;

const read = (file: string): string => readFileSync(join(import.meta.dirname, "istiod", file), "utf8");
const asked: ByType<string> = JSON.parse(read("asked.json"));
const told: ByType<Resource> = JSON.parse(read("told.json"));
const typesByName: Readonly<Record<string, ResourceType>> = {
  LDS: types.listener,
  RDS: types.route,
  CDS: types.cluster,
  EDS: types.endpoint,
};
const addresses: Readonly<Record<string, string>> = {
  client: "10.0.0.99",
  "orders-1": "10.0.0.1",
  "orders-2": "10.0.0.2",
  "stock-1": "10.0.0.3",
};

describe("the same objects in istiod and here", () => {
  let controlPlane: ControlPlane;
  let server: RpcServer;
  let client: RpcClient;
  const printer = createJsonPrinter();

  beforeAll(async () => {
    const objects = ["k8s.yaml", "istio.yaml"].flatMap((file) => parseYaml(read(file)) as readonly KubeObject[]);
    controlPlane = createControlPlane(objects);
    server = createRpcServer({ routes: controlPlane.routes("client", "shop"), log: silentLogger });
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    client = createRpcClient({ target: { host: "127.0.0.1", port } });
  });
  afterAll(async () => {
    client.close();
    await server.close();
    await controlPlane.close();
  });

  const cases = Object.entries(asked).flatMap(([who, byType]) => Object.keys(byType).map((type) => ({ who, type })));
  test.each(cases)("$type of $who", async ({ who, type }) => {
    const print = await printer;
    const typeUrl = typesByName[type] ?? types.cluster;
    const node = {
      id: `sidecar~${addresses[who]}~${who}.shop~shop.svc.cluster.local`,
      metadata: { GENERATOR: "grpc", NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", LABELS: { app: "client" } },
    };
    const { resources } = await askOnce(
      client,
      { typeUrl, names: asked[who]?.[type] ?? [], node },
      { timeoutMs: 20_000 },
    );
    const found = byName(resources.map(({ value }) => print(typeUrl, value)));
    const expected = byName(told[who]?.[type] ?? []);
    expect([...found.keys()]).toEqual([...expected.keys()]);
    for (const [name, resource] of found) expect(resource, name).toEqual(expected.get(name));
  });
});

const nameOf = ({ clusterName, name }: Resource): string => String(clusterName ?? name);

function byName(resources: readonly Resource[]): ReadonlyMap<string, Resource> {
  return new Map(resources.map((one) => [nameOf(one), one] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
}
