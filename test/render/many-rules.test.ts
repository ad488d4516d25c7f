/** So many DestinationRules for one host that a reference does not say them. Objects in, what a change of one makes again out. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type KubeObject, types } from "../../src/model/index.ts";
import { createRendering } from "../../src/render/index.ts";
import { istio, pod, service } from "./objects.ts";

const services = Array.from({ length: 20 }, (_, i) => service(`s${i}`, { spec: { clusterIP: `10.96.0.${i + 1}` } }));
const rule = (i: number, spec: object = {}): KubeObject =>
  istio("DestinationRule", `rule-with-an-ordinary-name-${i}`, { host: "*.local", ...spec });
const rules = Array.from({ length: 50 }, (_, i) => rule(i));

function setUp(objects: readonly KubeObject[]) {
  const offline = createOffline({ objects: [pod("p", { proxy: "sidecar" }), ...services, ...objects] });
  const rendering = createRendering(offline.mesh);
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const renderer = rendering.renderer(offline.classOf(proxy), () => {});
  const clusters = (): ReadonlyMap<string, string> => {
    renderer.refresh();
    return new Map([...renderer.all(types.cluster)].map(([name, { hash }]) => [name, hash]));
  };
  const scope = offline.mesh.scope("default", {});
  const refs = (): ReadonlySet<string | undefined> =>
    new Set(services.map(({ metadata }) => scope.ruleRef(`default/${metadata.name}.default.svc.cluster.local`, {})));
  return { offline, clusters, refs };
}

test.each<[string, readonly KubeObject[], readonly KubeObject[]]>([
  ["another policy", [rule(30, { trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } })], []],
  ["a subset", [rule(30, { subsets: [{ name: "v1", labels: { version: "v1" } }] })], []],
  ["one rule more, that has a subset", [rule(99, { subsets: [{ name: "v1", labels: { version: "v1" } }] })], []],
  ["one rule less", [], rules.slice(1, 2)],
  ["few rules", [], rules.slice(3)],
])("%s: clusters are what they would be from the start", (_, apply, remove) => {
  const { offline, clusters } = setUp(rules);
  expect(clusters().size).toBeGreaterThan(services.length);
  offline.source.apply(apply);
  for (const object of remove) offline.source.remove(object);
  const names = new Set([...apply, ...remove].map(({ metadata }) => metadata.name));
  const left = rules.filter(({ metadata }) => !names.has(metadata.name));
  expect(clusters()).toEqual(setUp([...left, ...apply]).clusters());
});

test("what a service's cluster is known by is no longer for more rules, and stands for all of them", () => {
  const { offline, refs } = setUp(rules);
  const [ref = "", ...others] = refs();
  expect(others).toEqual([]);
  expect(ref.length).toBeLessThan(400);
  expect(offline.mesh.rule(ref)?.from).toEqual(rules.map(({ metadata }) => `default/${metadata.name}`).sort());
  for (const object of rules.slice(10)) offline.source.remove(object);
  const [now = ""] = refs();
  expect(offline.mesh.rule(now)?.from.length).toBe(10);
  expect(offline.mesh.rule(ref)).toBeUndefined();
});
