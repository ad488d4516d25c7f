/** Objects that differ in the order of their keys alone, which are equal to the graph: what proxies are sent is equal too. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { isRecord } from "../../src/lib/index.ts";
import { envoyTypes, type KubeObject } from "../../src/model/index.ts";
import { createEnvoyTypes, createRenderer } from "../../src/render/index.ts";
import { istio, node, pod, service, slice } from "./objects.ts";

/** All keys the other way round, at any depth. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, reversed(inner)] as const);
  return Object.fromEntries(entries.reverse());
}

const world = [
  pod("client", { proxy: "sidecar", address: "10.0.0.9", node: "n1" }),
  ...[node("n1", "us", "a"), node("n2", "us", "b"), service("web")],
  ...[pod("web", { address: "10.0.0.1", node: "n1" }), pod("web2", { address: "10.0.0.2", node: "n2" })],
  slice("web", [
    { address: "10.0.0.1", pod: "web" },
    { address: "10.0.0.2", pod: "web2" },
  ]),
];

async function hashes(objects: readonly KubeObject[]): Promise<ReadonlyMap<string, string>> {
  const offline = createOffline({ objects: [...world, ...objects] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const patchTypes = createEnvoyTypes(offline.mesh.graph);
  await patchTypes.load();
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy), { envoyTypes: patchTypes });
  return new Map(
    envoyTypes.flatMap((type) => [...renderer.all(type)].map(([name, { hash }]) => [`${type} ${name}`, hash] as const)),
  );
}

type Written = Readonly<Record<string, unknown>>;

const meshConfig = (mesh: Written): KubeObject => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "istio", namespace: "istio-system" } },
  data: { mesh: JSON.stringify(mesh) },
});
const as = (kind: string) => (spec: Written) => istio(kind, "one", spec);

const overlapping = { distribute: [{ from: "us/a/*", to: { "us/*": 30, "us/a/*": 70, "*": 10 } }] };
const outlierDetection = { consecutive5xxErrors: 3 };
const labels = { a: "%PROTOCOL%", b: { d: "%DURATION%", c: "%REQ_WITHOUT_QUERY(X)%" } };

test.each<[string, (written: Written) => KubeObject, Written]>([
  [
    "labels of access logs",
    meshConfig,
    {
      ...{ accessLogFile: "/dev/stdout", defaultProviders: { accessLogging: ["mine"] } },
      extensionProviders: [{ name: "mine", envoyFileAccessLog: { path: "/dev/stdout", logFormat: { labels } } }],
    },
  ],
  [
    "places of the mesh that share a locality",
    meshConfig,
    { localityLbSetting: overlapping, defaultTrafficPolicy: { outlierDetection } },
  ],
  [
    "places of a DestinationRule that share a locality",
    as("DestinationRule"),
    { host: "web", trafficPolicy: { outlierDetection, loadBalancer: { localityLbSetting: overlapping } } },
  ],
  [
    "maps and structs of an EnvoyFilter",
    as("EnvoyFilter"),
    {
      configPatches: [
        {
          applyTo: "CLUSTER",
          match: { context: "SIDECAR_OUTBOUND" },
          patch: {
            operation: "MERGE",
            value: { metadata: { filterMetadata: { x: { a: "1", b: { c: "2", d: "3" } }, y: {} } } },
          },
        },
      ],
    },
  ],
  [
    "several names of the authority",
    as("VirtualService"),
    {
      hosts: ["web"],
      http: [
        {
          headers: { request: { set: { ":authority": "a.com", host: "b.com", Host: "c.com" } } },
          route: [{ destination: { host: "web" } }],
        },
      ],
    },
  ],
])("%s", async (_, object, written) => {
  const made = await hashes([object(written)]);
  expect(await hashes([object(reversed(written) as Written)])).toEqual(made);
  expect(made).not.toEqual(await hashes([]));
});
