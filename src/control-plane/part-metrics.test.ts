import { expect, onTestFinished, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { type KubeObject, types } from "../model/index.ts";
import { createMetrics } from "../ops/index.ts";
import type { ProxyNode } from "../xds/index.ts";
import { measureParts } from "./part-metrics.ts";
import { sourceOf } from "./source/testing-source.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const where = { domain: "cluster.local", cluster: "Kubernetes" };
const service = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default" },
  spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80 }] },
});
const node = (namespace: string): ProxyNode => ({
  id: `sidecar~10.0.0.1~app.${namespace}~${namespace}.svc.cluster.local`,
  cluster: "",
  metadata: { NAMESPACE: namespace },
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
});

function start() {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects: [service("a"), service("b")] });
  const stages = createStages({ graph, ...where, objects: watchObjects(api).objects, configMap: "istio-system/istio" });
  const resources = sourceOf(stages, where);
  onTestFinished(() => resources.close());
  const metrics = createMetrics();
  measureParts(metrics, resources);
  const connect = async (namespace: string) => {
    const session = resources.connect(node(namespace), undefined, () => {});
    await session.ready;
    for (const type of [types.cluster, types.endpoint, types.listener, types.route]) session.all(type);
    return session;
  };
  const told = async () => {
    const text = await metrics.text();
    const of = (name: string): number =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")[1],
      );
    return {
      hits: of('xds_cache_reads{type="hit"}'),
      misses: of('xds_cache_reads{type="miss"}'),
      evictions: of('xds_cache_evictions{type="clear"}'),
      size: of("xds_cache_size"),
      dependent: of("xds_cache_dependent_config_size"),
    };
  };
  return { api, resources, connect, told };
}

test("a part is a miss when it is made, a hit when somebody else reads it, and evicted when nobody needs it", async () => {
  const { api, resources, connect, told } = start();
  expect(await told()).toEqual({ hits: 0, misses: 0, evictions: 0, size: 0, dependent: 0 });
  const first = await connect("default");
  const one = await told();
  expect(one.misses).toBeGreaterThan(0);
  expect(one.size).toBeGreaterThan(0);
  expect(one.dependent).toBeGreaterThan(one.size);

  const second = await connect("other");
  const two = await told();
  expect(two.hits).toBeGreaterThan(one.hits);
  // Only what differs in its namespace is made for it.
  expect(two.misses - one.misses).toBeLessThan(one.misses / 2);

  api.remove(service("b"));
  await resources.flush();
  const less = await told();
  expect(less.evictions).toBeGreaterThan(two.evictions);
  expect(less.size).toBeLessThan(two.size);
  expect(less.dependent).toBeLessThan(two.dependent);

  first.close();
  second.close();
  // What was looked at from outside may stay for two changes more.
  for (const name of ["c", "d", "e"]) api.apply([service(name)]);
  const none = await told();
  expect(none).toMatchObject({ size: 0, dependent: 0 });
  expect(none.evictions).toBeGreaterThan(less.evictions);
});
