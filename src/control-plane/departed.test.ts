/** Services, routes, rules, policies and proxies come and go; what is kept must be where it began. */
import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { types } from "../model/index.ts";
import type { ProxyNode } from "../xds/index.ts";
import { proxyOfNode } from "./proxy-of-node.ts";
import { createResourceSource } from "./resource-source.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const istio = (group: string, kind: string, name: string, namespace: string, spec: object): KubeObject => ({
  apiVersion: `${group}.istio.io/v1`,
  kind,
  metadata: { name, namespace },
  spec,
});

/** What one team brings along, and takes away again. */
function team(i: number): readonly KubeObject[] {
  const namespace = `team-${i}`;
  const host = `web.${namespace}.svc.cluster.local`;
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace },
      spec: {
        clusterIP: `10.96.${i >> 8}.${i & 255}`,
        ports: [
          { name: "http", port: 80 },
          { name: "tcp", port: 81 },
        ],
      },
    },
    istio("networking", "VirtualService", "web", namespace, {
      hosts: [host],
      http: [{ match: [{ sourceLabels: { app: `a${i}` } }], route: [{ destination: { host } }] }],
    }),
    istio("networking", "DestinationRule", "web", namespace, {
      host,
      workloadSelector: { matchLabels: { app: "web" } },
      subsets: [{ name: "v1" }],
    }),
    istio("networking", "Sidecar", "own", namespace, {
      workloadSelector: { labels: { app: "web" } },
      egress: [{ hosts: ["./*"] }],
    }),
    istio("security", "AuthorizationPolicy", "web", namespace, { selector: { matchLabels: { app: "web" } } }),
  ];
}

const node = (namespace: string): ProxyNode => ({
  id: `sidecar~10.0.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
  cluster: "web",
  metadata: { NAMESPACE: namespace, LABELS: { app: "web" } },
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
});

function start() {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects: [] });
  const stages = createStages({
    graph,
    objects: watchObjects(api).objects,
    domain: "cluster.local",
    cluster: "Kubernetes",
    configMap: "istio-system/istio",
  });
  const context = { mesh: stages.mesh, registry: stages.registry, domain: "cluster.local", cluster: "Kubernetes" };
  const source = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (of, identity) => proxyOfNode(of, context, identity),
    classOf: stages.classOf,
    debounceMs: 1e6,
    debounceMaxMs: 1e6,
    onFault: (_, { error }) => {
      throw error;
    },
  });
  const connect = async (namespace: string) => {
    const session = source.connect(node(namespace), undefined, () => {});
    await session.ready;
    const read = (): void => {
      for (const type of Object.values(types)) session.all(type);
    };
    read();
    return { read, close: session.close };
  };
  return { graph, api, source, connect };
}

test("after they have gone nothing is kept of services, objects and proxies", async () => {
  const { graph, api, source, connect } = start();
  const stays = await connect("stays");
  const pass = async (from: number, count: number): Promise<void> => {
    for (let i = from; i < from + count; i++) {
      for (const object of team(i)) api.apply([object]);
      const proxy = await connect(`team-${i}`);
      await source.flush();
      stays.read();
      proxy.close();
      for (const object of team(i)) api.remove(object);
      await source.flush();
      stays.read();
    }
  };
  const counts = (): readonly number[] => {
    graph.sweep();
    graph.sweep();
    return [graph.entries, source.facets, source.classes, source.nodes];
  };
  await pass(0, 5);
  const before = counts();
  await pass(5, 60);
  expect(counts()).toEqual(before);
  stays.close();
  source.close();
});
