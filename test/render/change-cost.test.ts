/** What one change costs the whole renderer: how many resources are rendered again, and which come out different. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type KubeObject, type ResourceType, types } from "../../src/model/index.ts";
import { createRenderer, createRendering } from "../../src/render/index.ts";
import { istio, pod, service, slice } from "./objects.ts";

const count = 100;
const firstNumbers = Array.from({ length: count }, (_, i) => i);
const kinds = [types.cluster, types.endpoint, types.listener, types.route];

const route = (i: number, timeout: string): KubeObject =>
  istio("VirtualService", `v${i}`, {
    hosts: [`s${i}`],
    http: [{ timeout, route: [{ destination: { host: `s${i}` } }] }],
  });
const rule = (i: number, maxConnections: number): KubeObject =>
  istio("DestinationRule", `r${i}`, {
    host: `s${i}`,
    trafficPolicy: { connectionPool: { tcp: { maxConnections } } },
  });
const endpoints = (i: number, ...addresses: readonly string[]): KubeObject =>
  slice(
    `s${i}`,
    addresses.map((address) => ({ address })),
  );
/** Two HTTP ports, so that half of the services are on another route configuration; every fifth speaks TCP. */
const serviceOf = (i: number): KubeObject =>
  service(`s${i}`, {
    port: i % 2 ? 80 : 81,
    portName: i % 5 === 0 ? "tcp" : "http",
    spec: { clusterIP: `10.1.${i >> 8}.${i & 255}` },
  });

function setUp(numbers = firstNumbers) {
  const objects = numbers.flatMap((i) => [
    serviceOf(i),
    endpoints(i, `10.2.0.${i}`),
    ...(i % 10 === 1 ? [route(i, "1s"), rule(i, 5)] : []),
  ]);
  const offline = createOffline({ objects: [pod("client", { proxy: "sidecar" }), ...objects] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy));
  const hashes = (): ReadonlyMap<string, string> =>
    new Map(
      kinds.flatMap((type: ResourceType) =>
        [...renderer.all(type)].map(([name, { hash }]) => [`${type} ${name}`, hash]),
      ),
    );
  return { offline, renderer, hashes };
}

const short = (id: string): string => id.replace(/^.*\.(\w+) /, "$1 ").replace(".default.svc.cluster.local", "");

test.each<[string, KubeObject, readonly string[], number]>([
  // Once for everybody, and once with the bare names of the client's own namespace.
  ["a VirtualService", route(11, "2s"), ["RouteConfiguration 80"], 2],
  ["a DestinationRule", rule(11, 7), ["Cluster outbound|80||s11"], 3],
  ["an EndpointSlice", endpoints(12, "10.2.1.1", "10.2.1.2"), ["ClusterLoadAssignment outbound|81||s12"], 3],
  ["an object for nobody here", istio("DestinationRule", "x", { host: "elsewhere.example" }), [], 0],
  // Clients look for PeerAuthentications of these servers, and for no other kind.
  ["an AuthorizationPolicy for all servers", istio("AuthorizationPolicy", "x", {}), [], 0],
  ["a Telemetry for all servers", istio("Telemetry", "x", {}), [], 0],
])("%s: few of some two hundred resources are rendered again", (_, object, changed, most) => {
  const { offline, renderer, hashes } = setUp();
  const before = hashes();
  expect(before.size).toBeGreaterThan(2 * count);
  const rendered = renderer.rendered;
  offline.source.apply([object]);
  renderer.refresh();
  const now = hashes();
  expect([...now].filter(([id, hash]) => before.get(id) !== hash).map(([id]) => short(id))).toEqual(changed);
  expect(now.size).toBe(before.size);
  expect(renderer.rendered - rendered).toBeLessThanOrEqual(most);
  expect(renderer.rendered - rendered).toBeGreaterThanOrEqual(changed.length);
});

test("the same object again renders nothing", () => {
  const { offline, renderer, hashes } = setUp();
  hashes();
  const rendered = renderer.rendered;
  offline.source.apply([structuredClone(route(11, "1s"))]);
  expect(renderer.refresh().size).toBe(0);
  expect(renderer.rendered).toBe(rendered);
});

test("a Service that comes or goes makes as many parts again in a mesh that is five times as large", () => {
  const made = (services: number): readonly (readonly [string, number])[] => {
    const { offline } = setUp(Array.from({ length: services }, (_, i) => i));
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    const rendering = createRendering(offline.mesh);
    const renderer = rendering.renderer(offline.classOf(proxy), () => {});
    const render = (): void => {
      renderer.refresh();
      for (const type of kinds) renderer.all(type);
    };
    render();
    const counts = (): Map<string, number> =>
      new Map([...rendering.counts].map(([name, { computed }]) => [name, computed]));
    const before = counts();
    const added = [service("added", { spec: { clusterIP: "10.1.99.1" } }), slice("added", [{ address: "10.2.99.1" }])];
    offline.source.apply(added);
    render();
    for (const object of added) offline.source.remove(object);
    render();
    return [...counts()].map(([name, computed]) => [name, computed - (before.get(name) ?? 0)] as const);
  };
  const few = made(200);
  expect(few.some(([, computed]) => computed > 0)).toBe(true);
  expect(made(1000)).toEqual(few);
});

test("what a cluster stands for is made once, for its endpoints and for proxies of another version too", () => {
  const { offline } = setUp();
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const rendering = createRendering(offline.mesh);
  const known = offline.classOf(proxy);
  const renderers = [known, { ...known, istioVersion: "1.20.0" }].map((one) => rendering.renderer(one, () => {}));
  const made = (): number => {
    for (const renderer of renderers) {
      renderer.refresh();
      for (const type of kinds) renderer.all(type);
    }
    return rendering.counts.get("outbound target")?.computed ?? 0;
  };
  expect(made()).toBe(count);
  offline.source.apply([rule(11, 7)]);
  expect(made()).toBe(count + 1);
});

const tcpRule = { route: [{ destination: { host: "s0", port: { number: 81 } } }] };
const gatewayServer = { port: { number: 9000, name: "tcp", protocol: "TCP" }, hosts: ["*"] };

test.each<[string, string, "sidecar" | "router", KubeObject, readonly KubeObject[]]>([
  [
    ...(["a Sidecar", "inbound chain", "sidecar"] as const),
    istio("Sidecar", "own", { ingress: [{ port: { number: 9000, name: "http", protocol: "HTTP" } }] }),
    [],
  ],
  [
    ...(["a VirtualService for TCP", "outbound chain", "sidecar"] as const),
    istio("VirtualService", "v", { hosts: ["s0"], tcp: [tcpRule] }),
    [],
  ],
  [
    ...(["a VirtualService for TLS", "outbound chain", "sidecar"] as const),
    istio("VirtualService", "v", {
      hosts: ["tls.example.com"],
      tls: [{ ...tcpRule, match: [{ sniHosts: ["tls.example.com"] }] }],
    }),
    [
      istio("ServiceEntry", "tls", {
        hosts: ["tls.example.com"],
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
        resolution: "DNS",
      }),
    ],
  ],
  [
    ...(["a gateway's VirtualService", "gateway chain", "router"] as const),
    istio("VirtualService", "v", { hosts: ["*"], gateways: ["g"], tcp: [tcpRule] }),
    [istio("Gateway", "g", { selector: { app: "p" }, servers: [gatewayServer] })],
  ],
])("an edit of the annotations of %s makes no chain again", (_, recipe, proxyType, object, others) => {
  const offline = createOffline({
    objects: [pod("p", { proxy: proxyType }), serviceOf(0), endpoints(0, "10.2.0.1"), ...others, object],
  });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const rendering = createRendering(offline.mesh);
  const renderer = rendering.renderer(offline.classOf(proxy), () => {});
  const made = (): number => {
    renderer.refresh();
    expect(renderer.all(types.listener).size).toBeGreaterThan(0);
    return rendering.counts.get(recipe)?.computed ?? 0;
  };
  const before = made();
  expect(before).toBeGreaterThan(0);
  offline.source.apply([{ ...object, metadata: { ...object.metadata, annotations: { "a/b": "c" } } }]);
  expect(made()).toBe(before);
});

test.each<[string, number, readonly KubeObject[]]>([
  [
    ...(["sidecars of many namespaces without a service", 1] as const),
    ["a", "b", "c"].map((namespace) => {
      const made = pod("p", { proxy: "sidecar" });
      return { ...made, metadata: { ...made.metadata, namespace } };
    }),
  ],
  [
    ...(["deployments of one service, of which routes tell one apart", 1] as const),
    [
      serviceOf(0),
      istio("VirtualService", "v", {
        hosts: ["s0"],
        tcp: [{ match: [{ sourceLabels: { version: "v1" } }], route: [{ destination: { host: "s0" } }] }],
      }),
      ...["v1", "v2"].map((version) => pod(version, { proxy: "sidecar", labels: { app: "s0", version } })),
    ],
  ],
  [
    ...(["deployments of two services", 2] as const),
    [1, 2].flatMap((i) => [serviceOf(i), pod(`s${i}`, { proxy: "sidecar", address: `10.0.0.${i}` })]),
  ],
])("%s have %i inbound listeners between them", (_, count, objects) => {
  const offline = createOffline({ objects });
  const rendering = createRendering(offline.mesh);
  const classes = offline.proxies().map((proxy) => offline.classOf(proxy));
  const renderers = classes.map((one) => rendering.renderer(one, () => {}));
  for (const renderer of renderers) expect(renderer.all(types.listener).has("virtualInbound")).toBe(true);
  expect(rendering.counts.get("inbound listener shape")?.entries).toBe(classes.length);
  expect(rendering.counts.get("inbound listener")?.entries).toBe(count);
});
