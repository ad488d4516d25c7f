/** What a change costs: only the virtual hosts that read it are made again, and only their configuration comes out different. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type KubeObject, types } from "../../src/model/index.ts";
import { createRenderer, createRendering } from "../../src/render/index.ts";
import { istio, pod, service } from "./objects.ts";

const count = 200;
const virtualService = (i: number, timeout: string): KubeObject =>
  istio("VirtualService", `v${i}`, {
    hosts: [`s${i}`],
    http: [{ timeout, route: [{ destination: { host: `s${i}` } }] }],
  });
const destinationRule = (i: number, header: string): KubeObject =>
  istio("DestinationRule", `r${i}`, {
    host: `s${i}`,
    trafficPolicy: { loadBalancer: { consistentHash: { httpHeaderName: header } } },
  });

function setUp() {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const objects = [
    pod("client", { proxy: "sidecar" }),
    ...numbers.map((i) => service(`s${i}`, { port: i % 2 ? 80 : 81, spec: { clusterIP: `10.1.0.${i}` } })),
    ...numbers.filter((i) => i % 10 === 1).map((i) => virtualService(i, "1s")),
  ];
  const offline = createOffline({ objects });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const rendering = createRendering(offline.mesh);
  const renderer = rendering.renderer(offline.classOf(proxy));
  const made = (): number => rendering.counts.get("virtual host")?.computed ?? 0;
  /** How many virtual hosts a change makes anew. */
  const cost = (change: () => void): number => {
    renderer.set(types.route);
    const before = made();
    change();
    renderer.refresh();
    return made() - before;
  };
  return { offline, proxy, cost };
}

/** Each is made twice: for everybody, and with the bare names of the client's own namespace. */
test.each<[string, KubeObject, number]>([
  ["a VirtualService's route", virtualService(11, "2s"), 2],
  ["a new VirtualService", virtualService(13, "2s"), 2],
  ["a DestinationRule for a service without VirtualService", destinationRule(13, "x"), 2],
  ["a DestinationRule for a service with one", destinationRule(11, "x"), 2],
  ["a new service", service("new", { spec: { clusterIP: "10.2.0.1" } }), 2],
  ["an object for another host", istio("DestinationRule", "z", { host: "elsewhere.example" }), 0],
])("%s", (_, object, expected) => {
  const { offline, cost } = setUp();
  expect(cost(() => offline.source.apply([object]))).toBe(expected);
});

test("one VirtualService changes one route configuration", () => {
  const { offline, proxy } = setUp();
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy));
  const hashes = (): Map<string, string> =>
    new Map([...renderer.all(types.route)].map(([name, { hash }]) => [name, hash]));
  const before = hashes();
  offline.source.apply([virtualService(11, "3s")]);
  expect([...renderer.refresh().keys()]).toEqual([types.route]);
  const after = hashes();
  expect(after.get("81")).toBe(before.get("81"));
  expect(after.get("80")).not.toBe(before.get("80"));
  expect(renderer.get(types.route, "80")?.needs).toContain("outbound|80||s11.default.svc.cluster.local");
});

test("the older of two services with one address has its domain, also where it becomes the first just now", () => {
  const created = (object: KubeObject, creationTimestamp: string, annotations = {}): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, creationTimestamp, annotations },
  });
  const old = "2026-01-01T00:00:00Z";
  const exportTo = { "networking.istio.io/exportTo": "." };
  const https = { name: "https", port: 443 };
  const before = created(service("web", { spec: { ports: [https] } }), old, exportTo);
  const after = created(service("web", { spec: { ports: [https, { name: "http", port: 8080 }] } }), old);
  const others = [
    pod("client", { proxy: "sidecar" }),
    created(
      istio("ServiceEntry", "both", {
        hosts: ["api.example.com", "web.default.svc.cluster.local"],
        addresses: ["240.2.0.0/16"],
        ports: [{ name: "http", number: 8080, protocol: "HTTP" }],
        resolution: "STATIC",
        endpoints: [{ address: "10.0.1.4" }],
      }),
      "2026-02-01T00:00:00Z",
    ),
    // A namespace that sees what others do not has its services listed for itself.
    istio("VirtualService", "own", { hosts: ["elsewhere"], exportTo: ["."], http: [] }),
  ];
  const rendered = (objects: readonly KubeObject[], changed: readonly KubeObject[] = []): string | undefined => {
    const offline = createOffline({ objects });
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    const renderer = createRenderer(offline.mesh, offline.classOf(proxy));
    renderer.set(types.route);
    offline.source.apply(changed);
    renderer.refresh();
    return renderer.get(types.route, "8080")?.hash;
  };
  const fresh = rendered([...others, after]);
  expect(fresh).toBeDefined();
  expect(rendered([...others, before], [after])).toBe(fresh);
});
