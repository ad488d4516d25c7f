/** What the mesh config sets for every destination changes under a renderer that lives on: it has the bytes of a fresh one. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { bytesOf, envoyTypes, type KubeObject, types } from "../../src/model/index.ts";
import { createRenderer, type Renderer } from "../../src/render/index.ts";
import { istio, pod, service, slice } from "./objects.ts";

type Written = Readonly<Record<string, unknown>>;

const tcp = (maxConnections: number): Written => ({ tcp: { maxConnections } });
const outside = (name: string, resolution: string): KubeObject =>
  istio("ServiceEntry", name, {
    ...{ hosts: [`${name}.example`], resolution, location: "MESH_EXTERNAL" },
    ports: [{ number: 443, name: "tls", protocol: "TLS" }],
  });
const subsets = [
  { name: "as-host" },
  { name: "own", trafficPolicy: { connectionPool: tcp(31) } },
  { name: "passes", trafficPolicy: { loadBalancer: { simple: "PASSTHROUGH" } } },
  { name: "port", trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, connectionPool: tcp(32) }] } },
];

const names = ["plain", "ruled", "balanced", "split"];
const world = [
  pod("client", { proxy: "sidecar" }),
  ...names.flatMap((name, i) => [
    service(name, { spec: { clusterIP: `10.1.0.${i}` } }),
    slice(name, [{ address: `10.2.0.${i}` }]),
  ]),
  service("headless", { portName: "tcp", spec: { clusterIP: "None" } }),
  ...[outside("strict", "DNS"), outside("logical", "DNS_ROUND_ROBIN"), outside("none", "NONE")],
  istio("DestinationRule", "ruled", { host: "ruled", trafficPolicy: { connectionPool: tcp(30) } }),
  istio("DestinationRule", "balanced", { host: "balanced", trafficPolicy: { loadBalancer: { simple: "RANDOM" } } }),
  istio("DestinationRule", "split", { host: "split", subsets }),
];
const meshConfig = (defaultTrafficPolicy: Written): KubeObject => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio", namespace: "istio-system" } },
  data: { mesh: JSON.stringify({ defaultTrafficPolicy }) },
});

function start(policy: Written) {
  const offline = createOffline({ objects: [...world, meshConfig(policy)] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  return { offline, renderer: createRenderer(offline.mesh, offline.classOf(proxy)) };
}

const bytes = (renderer: Renderer): ReadonlyMap<string, string> =>
  new Map(
    envoyTypes.flatMap((type) =>
      [...renderer.all(type)].map(
        ([name, resource]) => [`${type} ${name}`, Buffer.from(bytesOf(resource)).toString("base64")] as const,
      ),
    ),
  );

test("each default that comes, changes and goes is in the clusters that have no own one", () => {
  const outlierDetection = { consecutive5xxErrors: 3 };
  const { offline, renderer } = start({});
  let before = bytes(renderer);
  /** With whether it is also for those that have a connection pool of their own. */
  const changes: readonly (readonly [Written, boolean])[] = [
    [{ connectionPool: tcp(5) }, false],
    [{ connectionPool: tcp(7) }, false],
    [{ connectionPool: tcp(7), outlierDetection }, true],
    [{ connectionPool: tcp(7), outlierDetection: { consecutive5xxErrors: 4 } }, true],
    [{ connectionPool: tcp(8), outlierDetection: { consecutive5xxErrors: 4 } }, false],
    [{ outlierDetection }, true],
    [{}, true],
  ];
  for (const [policy, forRuled] of changes) {
    offline.source.apply([meshConfig(policy)]);
    expect([...renderer.refresh().keys()]).toEqual([types.cluster]);
    const now = bytes(renderer);
    expect(now).toEqual(bytes(start(policy).renderer));
    const differs = (host: string): boolean => {
      const id = `${types.cluster} outbound|80||${host}.default.svc.cluster.local`;
      return now.get(id) !== before.get(id);
    };
    expect(["plain", "balanced", "ruled"].map(differs)).toEqual([true, true, forRuled]);
    before = now;
  }
});
