import { describe, expect, test } from "vitest";
import type { KubeObject } from "../model/index.ts";
import { createOffline } from "./index.ts";

let created = 0;
const istio = (kind: string, namespace: string, name: string, spec: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: kind === "PeerAuthentication" ? "security.istio.io/v1" : "networking.istio.io/v1",
  kind,
  metadata: { name, namespace, creationTimestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, created++)).toISOString() },
  spec,
});
const service = (namespace: string, name: string, annotations: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace, annotations },
  spec: {
    clusterIP: "10.0.0.1",
    ports: [80, 8080].map((port) => ({ name: `http-${port}`, port, targetPort: port, protocol: "TCP" })),
  },
});
const fqdn = (namespace: string, name: string): string => `${name}.${namespace}.svc.cluster.local`;
const key = (namespace: string, name: string): string => `${namespace}/${fqdn(namespace, name)}`;
const meshOf = (objects: readonly KubeObject[], meshConfig: Readonly<Record<string, unknown>> = {}) =>
  createOffline({ objects, meshConfig }).mesh;

describe("services", () => {
  test("exportTo, and the mesh's default where it is absent", () => {
    const objects = [
      service("a", "own"),
      service("b", "open", { "networking.istio.io/exportTo": "*" }),
      service("b", "to-a", { "networking.istio.io/exportTo": "a, c" }),
      service("b", "none", { "networking.istio.io/exportTo": "~" }),
    ];
    const mesh = meshOf(objects, { defaultServiceExportTo: ["."] });
    expect(mesh.scope("a", {}).services).toEqual([key("a", "own"), key("b", "to-a"), key("b", "open")]);
    expect(mesh.scope("d", {}).services).toEqual([key("b", "open")]);
  });

  test("of one host in several namespaces the own one is seen, else a Kubernetes Service", () => {
    const entry = (namespace: string) =>
      istio("ServiceEntry", namespace, "e", {
        hosts: [fqdn("b", "web")],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
      });
    const mesh = meshOf([entry("a"), service("b", "web"), entry("c")]);
    expect(mesh.scope("a", {}).keyFor(fqdn("b", "web"))).toBe(`a/${fqdn("b", "web")}`);
    expect(mesh.scope("d", {}).keyFor(fqdn("b", "web"))).toBe(key("b", "web"));
  });
});

test("a proxy in a namespace that is not discovered asks all the same", () => {
  const pod: KubeObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "hidden" },
    spec: { containers: [{ name: "istio-proxy", args: ["proxy", "sidecar"] }] },
    status: { podIP: "10.0.0.1" },
  };
  const namespace: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "hidden" } };
  const offline = createOffline({
    objects: [namespace, pod, service("hidden", "web")],
    meshConfig: { discoverySelectors: [{ matchLabels: { team: "a" } }] },
  });
  expect(offline.proxies().map(({ name }) => name)).toEqual(["p"]);
  expect(offline.mesh.scope("hidden", {}).services).toEqual([]);
});

describe("Sidecars", () => {
  const services = [service("a", "one"), service("b", "two"), service("b", "three")];

  test("selector before namespace before root namespace", () => {
    const mesh = meshOf([
      ...services,
      istio("Sidecar", "istio-system", "root", { egress: [{ hosts: ["b/*"] }] }),
      istio("Sidecar", "a", "wide", { egress: [{ hosts: ["./*"] }] }),
      istio("Sidecar", "a", "some", {
        workloadSelector: { labels: { app: "x" } },
        egress: [{ hosts: [`b/${fqdn("b", "two")}`] }],
      }),
    ]);
    expect(mesh.scope("a", { app: "x" }).services).toEqual([key("b", "two")]);
    expect(mesh.scope("a", {}).services).toEqual([key("a", "one")]);
    expect(mesh.scope("c", {}).services).toEqual([key("b", "three"), key("b", "two")]);
  });

  test("a listener with a port leaves only that port, and listeners add up in the scope", () => {
    const listener = (number: number) => ({ port: { number, protocol: "HTTP", name: `p${number}` }, hosts: ["b/*"] });
    const mesh = meshOf([...services, istio("Sidecar", "a", "s", { egress: [listener(80), listener(8080)] })]);
    const scope = mesh.scope("a", {});
    expect(scope.egress.map((egress) => egress.service(key("b", "two"))?.ports.map(({ port }) => port))).toEqual([
      [80],
      [8080],
    ]);
    expect(scope.service(key("b", "two"))?.ports.map(({ port }) => port)).toEqual([80, 8080]);
  });

  test("what imported VirtualServices send to is in the scope, not in the listener", () => {
    const route = istio("VirtualService", "a", "v", {
      hosts: ["one"],
      http: [{ route: [{ destination: { host: fqdn("b", "three"), port: { number: 80 } } }] }],
    });
    const mesh = meshOf([...services, route, istio("Sidecar", "a", "s", { egress: [{ hosts: ["./*"] }] })]);
    const scope = mesh.scope("a", {});
    expect(scope.egress[0]?.services).toEqual([key("a", "one")]);
    expect(scope.services).toEqual([key("a", "one"), key("b", "three")]);
    expect(scope.service(key("b", "three"))?.ports.map(({ port }) => port)).toEqual([80]);
  });
});

describe("VirtualServices", () => {
  test("own ones first, then those exported to the namespace, then public ones; the most specific host wins", () => {
    const spec = (host: string, exportTo?: readonly string[]) => ({
      hosts: [host],
      http: [],
      ...(exportTo ? { exportTo } : {}),
    });
    const mesh = meshOf([
      istio("VirtualService", "b", "public", spec("x.com")),
      istio("VirtualService", "b", "to-a", spec("x.com", ["a"])),
      istio("VirtualService", "a", "own", spec("*.com", ["."])),
      istio("VirtualService", "b", "private", spec("y.com", ["."])),
    ]);
    const [egress] = mesh.scope("a", {}).egress;
    expect(egress?.virtualServiceKeys).toEqual(["a/own", "b/to-a", "b/public"]);
    expect(egress?.virtualServiceFor("x.com")).toBe("b/to-a");
    expect(egress?.virtualServiceFor("z.com")).toBe("a/own");
    expect(egress?.virtualServiceFor("z.org")).toBeUndefined();
  });

  test("a delegate must be exported to its root, and is no VirtualService of its own", () => {
    const root = istio("VirtualService", "a", "root", {
      hosts: ["x.com"],
      http: [
        { delegate: { name: "d", namespace: "b" } },
        { delegate: { name: "hidden", namespace: "b" } },
        { delegate: { name: "root" } },
      ],
    });
    const delegate = (name: string, exportTo: readonly string[]) =>
      istio("VirtualService", "b", name, { exportTo, http: [{ name, route: [{ destination: { host: "web" } }] }] });
    const mesh = meshOf([root, delegate("d", ["a"]), delegate("hidden", ["."])]);
    expect(mesh.virtualService("a/root")?.spec.http).toEqual([
      { name: "d", route: [{ destination: { host: fqdn("b", "web") } }] },
    ]);
    expect(mesh.virtualServiceKeysForGateway("b", "mesh")).toEqual(["a/root"]);
  });
});

describe("DestinationRules", () => {
  const rule = (
    namespace: string,
    name: string,
    host: string,
    more: Readonly<Record<string, unknown>> = {},
  ): KubeObject => istio("DestinationRule", namespace, name, { host, ...more });
  const from = (
    objects: readonly KubeObject[],
    client: string,
    labels: Readonly<Record<string, string>> | undefined = {},
  ): readonly string[] | undefined =>
    meshOf([service("b", "web"), ...objects])
      .scope(client, {})
      .destinationRule(key("b", "web"), labels)?.from;

  test("the client's namespace, then the service's, then the root namespace", () => {
    const all = [
      rule("istio-system", "root", "*.local"),
      rule("b", "server", "web"),
      rule("a", "client", fqdn("b", "web")),
    ];
    expect(from(all, "a")).toEqual(["a/client"]);
    expect(from(all, "c")).toEqual(["b/server"]);
    expect(from(all.slice(0, 1), "c")).toEqual(["istio-system/root"]);
    expect(from(all, "istio-system")).toEqual(["b/server"]);
  });

  test("a rule that is not exported to the client does not count, nor does a less specific one take its place", () => {
    expect(from([rule("b", "wide", "*.local"), rule("b", "private", "web", { exportTo: ["."] })], "a")).toEqual([
      "b/wide",
    ]);
    expect(from([rule("b", "wide", "*.local"), rule("b", "other", "web", { exportTo: ["c"] })], "a")).toBeUndefined();
  });

  test("rules of one host add up: subsets of all, the traffic policy of the oldest that has one", () => {
    const mesh = meshOf([
      service("b", "web"),
      rule("b", "one", "web", { subsets: [{ name: "v1" }] }),
      rule("b", "two", "web", {
        subsets: [{ name: "v1", labels: { x: "y" } }, { name: "v2" }],
        trafficPolicy: { tls: { mode: "DISABLE" } },
      }),
    ]);
    const merged = mesh.scope("a", {}).destinationRule(key("b", "web"), {});
    expect(merged?.from).toEqual(["b/one", "b/two"]);
    expect(merged?.spec).toMatchObject({
      subsets: [{ name: "v1" }, { name: "v2" }],
      trafficPolicy: { tls: { mode: "DISABLE" } },
    });
  });

  test("a workloadSelector chooses clients of its own namespace, outbound only", () => {
    const all = [
      rule("a", "all", fqdn("b", "web")),
      rule("a", "some", fqdn("b", "web"), { workloadSelector: { matchLabels: { app: "x" } } }),
    ];
    expect(from(all, "a", { app: "x" })).toEqual(["a/some"]);
    expect(from(all, "a", { app: "y" })).toEqual(["a/all"]);
    expect(from([...all.slice(1)], "c", { app: "x" })).toBeUndefined();
    const mesh = meshOf([service("b", "web"), ...all]);
    expect(mesh.scope("a", {}).destinationRule(key("b", "web"), undefined)?.from).toEqual(["a/all"]);
  });
});

describe("PeerAuthentication", () => {
  test("workload over namespace over mesh, ports first, UNSET inherits", () => {
    const mesh = meshOf([
      istio("PeerAuthentication", "istio-system", "mesh", { mtls: { mode: "STRICT" } }),
      istio("PeerAuthentication", "a", "wide", { mtls: { mode: "UNSET" } }),
      istio("PeerAuthentication", "a", "some", {
        selector: { matchLabels: { app: "x" } },
        mtls: { mode: "DISABLE" },
        portLevelMtls: { 80: { mode: "PERMISSIVE" }, 81: { mode: "UNSET" } },
      }),
    ]);
    expect(mesh.peerAuthentication("a", {}).mode).toBe("STRICT");
    const some = mesh.peerAuthentication("a", { app: "x" });
    expect([some.mode, some.ports.get(80), some.ports.get(81)]).toEqual(["DISABLE", "PERMISSIVE", "DISABLE"]);
    expect(meshOf([]).peerAuthentication("a", {}).mode).toBe("PERMISSIVE");
  });
});

test("namespaces that discoverySelectors leave out are as if they did not exist, and appear when they are labelled", () => {
  const namespace = (labels: Readonly<Record<string, string>>): KubeObject => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "b", labels },
  });
  const { mesh, source } = createOffline({
    objects: [namespace({}), service("b", "web")],
    meshConfig: { discoverySelectors: [{ matchLabels: { mesh: "on" } }] },
  });
  expect(mesh.scope("a", {}).services).toEqual([]);
  source.apply([namespace({ mesh: "on" })]);
  expect(mesh.scope("a", {}).services).toEqual([key("b", "web")]);
});

test.each([
  ["canary", ["shared", "ours"]],
  ["", ["shared", "ours", "theirs"]],
])("a control plane of revision %j leaves objects of others alone", (revision, seen) => {
  const route = (name: string, labels: Readonly<Record<string, string>>): KubeObject => {
    const made = istio("VirtualService", "a", name, { hosts: [`${name}.example.com`] });
    return { ...made, metadata: { ...made.metadata, labels } };
  };
  const objects = [
    route("shared", {}),
    route("ours", { "istio.io/rev": "canary" }),
    route("theirs", { "istio.io/rev": "stable" }),
  ];
  const { mesh } = createOffline({ objects, meshConfig: {}, revision });
  expect(["shared", "ours", "theirs"].filter((name) => mesh.virtualService(`a/${name}`))).toEqual(seen);
});
