/** An endpoint changes in meshes of few and of many different deployments; what they share is looked up once for all. */
import { expect, test } from "vitest";
import { scenario } from "../../bench/scale/scenario.ts";
import { envoyTypes, type KubeObject, types } from "../../src/model/index.ts";
import type { LiveProxy } from "./proxies.ts";
import { createWorld } from "./world.ts";

const slice = (address: string): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "svc-1-a", namespace: "ns-1", labels: { "kubernetes.io/service-name": "svc-1" } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
});

const deployment = (i: number, namespaces: number): LiveProxy => {
  const [namespace, app] = [`ns-${i % namespaces}`, `app-${i}`];
  return {
    name: app,
    identity: { trustDomain: "cluster.local", namespace, serviceAccount: app },
    node: {
      id: `sidecar~10.0.0.1~${app}.${namespace}~${namespace}.svc.cluster.local`,
      cluster: app,
      metadata: { NAMESPACE: namespace, WORKLOAD_NAME: app, LABELS: { app }, INSTANCE_IPS: "10.0.0.1" },
      locality: { region: "", zone: "", subZone: "" },
      extensions: new Set(),
      userAgent: "",
    },
  };
};

async function lookUps(deployments: number, namespaces: number): Promise<number> {
  const world = await createWorld([
    ...scenario({ services: 60, endpoints: 2, namespaces, routed: 10 }),
    slice("10.1.0.1"),
  ]);
  const proxies = [];
  for (let i = 0; i < deployments; i++) proxies.push(await world.connect(deployment(i, namespaces)));
  for (const proxy of proxies) for (const type of envoyTypes) proxy.all(type);
  await world.settled();
  const before = world.lookUps;
  world.change([slice("10.1.0.2")], []);
  await world.settled();
  const found = world.lookUps - before;
  for (const proxy of proxies)
    expect(proxy.told(types.endpoint, "outbound|80||svc-1.ns-1.svc.cluster.local")).toBe(true);
  await world.close();
  return found;
}

test.each([3, 30])(
  "thirty deployments in %i namespaces cost two look-ups each beyond what one costs",
  async (namespaces) => {
    const [one, all] = [await lookUps(1, namespaces), await lookUps(30, namespaces)];
    expect(all - one).toBeLessThanOrEqual(2 * 29);
  },
);
