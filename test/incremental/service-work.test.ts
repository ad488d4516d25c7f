/** One Service comes and goes in meshes of different sizes; how much is looked up and made must not depend on the size. */
import { expect, test } from "vitest";
import { scenario } from "../../bench/scale/scenario.ts";
import { envoyTypes, type KubeObject, types } from "../../src/model/index.ts";
import type { LiveProxy } from "./proxies.ts";
import { createWorld } from "./world.ts";

const namespaces = 4;

const added: KubeObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "added", namespace: "ns-0" },
  spec: {
    clusterIP: "10.97.0.1",
    ports: [
      { name: "http", port: 80, targetPort: 8080 },
      { name: "tcp-own", port: 9000 },
    ],
  },
};

const proxyIn = (namespace: string): LiveProxy => ({
  name: namespace,
  identity: { trustDomain: "cluster.local", namespace, serviceAccount: "default" },
  node: {
    id: `sidecar~10.0.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
    cluster: "web",
    metadata: { NAMESPACE: namespace, LABELS: { app: "web" }, INSTANCE_IPS: "10.0.0.1" },
    locality: { region: "", zone: "", subZone: "" },
    extensions: new Set(),
    userAgent: "",
  },
});

/** Look-ups that coming and going take, once everything is there that stays. */
async function lookUps(services: number): Promise<{ readonly coming: number; readonly going: number }> {
  const world = await createWorld(scenario({ services, endpoints: 2, namespaces, routed: 4 }));
  const proxies = await Promise.all(Array.from({ length: namespaces }, (_, i) => world.connect(proxyIn(`ns-${i}`))));
  const read = (): void => {
    for (const proxy of proxies) for (const type of envoyTypes) proxy.all(type);
  };
  const taken = async (apply: readonly KubeObject[], remove: readonly KubeObject[]): Promise<number> => {
    const before = world.lookUps;
    world.change(apply, remove);
    await world.settled();
    const found = world.lookUps - before;
    read();
    return found;
  };
  read();
  await taken([added], []);
  expect(proxies[0]?.all(types.cluster).has("outbound|80||added.ns-0.svc.cluster.local")).toBe(true);
  await taken([], [added]);
  const found = { coming: await taken([added], []), going: await taken([], [added]) };
  expect(world.faults()).toEqual([]);
  await world.close();
  return found;
}

test("a Service that comes or goes costs the same in a mesh of four times as many services", async () => {
  const [small, large] = [await lookUps(40), await lookUps(160)];
  expect(large.coming).toBeLessThanOrEqual(small.coming + 20);
  expect(large.going).toBeLessThanOrEqual(small.going + 20);
});
