import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { referencedBy } from "./references.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const object = (apiVersion: string, kind: string, name: string, spec: unknown): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
});
const istio = "networking.istio.io/v1";
const rule = object(istio, "DestinationRule", "reviews", { host: "reviews", subsets: [{ name: "v1" }] });
const there: readonly KubeObject[] = [
  object("v1", "Service", "reviews", { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }] }),
  object(istio, "Gateway", "edge", { selector: { app: "edge" }, servers: [] }),
  rule,
];

test.each<readonly [string, unknown, readonly string[]]>([
  ["all is there", { gateways: ["edge", "mesh"], http: [to("reviews", "v1")] }, []],
  ["another spelling", { gateways: ["shop/edge"], tcp: [to("reviews.shop.svc.cluster.local")] }, []],
  ["a Gateway", { gateways: ["other/edge"], http: [to("reviews")] }, ['Gateway "other/edge" does not exist']],
  ["a host", { http: [to("ratings")] }, ['no service has the host "ratings.shop.svc.cluster.local"']],
  [
    "a subset",
    { http: [to("reviews", "v2")] },
    ['no DestinationRule for "reviews.shop.svc.cluster.local" has the subset "v2"'],
  ],
  ["a mirror", { http: [{ ...to("reviews"), mirror: { host: "gone.example.com" } }] }, ["no service has the host"]],
  ["nothing that can be read", { http: "x", gateways: 1 }, []],
])("a VirtualService: %s", async (_name, spec, expected) => {
  const found = (await stages()).references(object(istio, "VirtualService", "v", spec));
  expect(found).toHaveLength(expected.length);
  for (const [i, text] of expected.entries()) expect(found[i]).toContain(text);
});

test("a DestinationRule, and what no longer is or comes later", async () => {
  const { source, references } = await stages();
  expect(references(rule)).toEqual([]);
  expect(references(object(istio, "DestinationRule", "r", { host: "gone" }))).toHaveLength(1);
  const routed = object(istio, "VirtualService", "v", { http: [to("reviews", "v1")] });
  source.remove(rule);
  expect(references(routed)).toHaveLength(1);
  source.apply([rule]);
  expect(references(routed)).toEqual([]);
});

function to(host: string, subset?: string): Readonly<Record<string, unknown>> {
  return { route: [{ destination: { host, ...(subset === undefined ? {} : { subset }) } }] };
}

async function stages() {
  const graph = createGraph();
  const source = createMemorySource({ graph, objects: there });
  const watched = watchObjects(source);
  const made = createStages({
    graph,
    objects: watched.objects,
    domain: "cluster.local",
    cluster: "Kubernetes",
    configMap: "istio-system/istio",
  });
  await watched.synced();
  const references = (of: KubeObject): readonly string[] => {
    const named = referencedBy(of);
    return named ? made.references(named) : [];
  };
  return { source, references };
}
