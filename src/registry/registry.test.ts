import { describe, expect, test } from "vitest";
import { createGraph, type Source } from "../collections/index.ts";
import { type Config, defaultMeshConfig, type KubeObject, type MeshConfigSpec, objectKey } from "../model/index.ts";
import { createRegistry } from "./registry.ts";

/** A registry over objects written as plain data; Istio's kinds come in decoded. */
function registryOf(objects: readonly KubeObject[], settings: MeshConfigSpec = {}) {
  const graph = createGraph();
  const sources = new Map<string, Source<KubeObject>>();
  const source = (group: string, kind: string): Source<KubeObject> => {
    const id = `${group}/${kind}`;
    const found = sources.get(id) ?? graph.source<KubeObject>(id);
    sources.set(id, found);
    return found;
  };
  const put = (object: KubeObject): void => {
    const [group = "", version] = object.apiVersion.split("/");
    source(version === undefined ? "" : group, object.kind).set(objectKey(object.metadata), object);
  };
  for (const object of objects) put(object);
  const decoded = <Spec>(kind: string) =>
    graph.derive<KubeObject, Config<Spec>>(`decoded ${kind}`, source("networking.istio.io", kind), (object, key) => [
      [
        key,
        {
          kind,
          meta: { ...object.metadata, namespace: object.metadata.namespace ?? "default" },
          spec: object.spec as Spec,
        },
      ],
    ]);
  const registry = createRegistry(graph, source, {
    domain: "cluster.local",
    cluster: "Kubernetes",
    settings: () => ({ ...defaultMeshConfig, ...settings }),
    discovered: () => true,
    serviceEntries: decoded("ServiceEntry"),
    workloadEntries: decoded("WorkloadEntry"),
  });
  return { registry, put };
}

const object = (
  apiVersion: string,
  kind: string,
  name: string,
  rest: Readonly<Record<string, unknown>>,
  metadata = {},
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "shop", ...metadata },
  ...rest,
});
const pod = (name: string, ip: string, labels: Readonly<Record<string, string>> = { app: "web" }): KubeObject =>
  object(
    "v1",
    "Pod",
    name,
    {
      spec: {
        serviceAccountName: "web",
        nodeName: "n1",
        containers: [{ ports: [{ name: "main", containerPort: 8443, protocol: "TCP" }] }],
      },
      status: { podIP: ip, conditions: [{ type: "Ready", status: "True" }] },
    },
    { labels: { "security.istio.io/tlsMode": "istio", ...labels } },
  );
const web = object("v1", "Service", "web", {
  spec: {
    clusterIP: "10.0.0.1",
    selector: { app: "web" },
    ports: [
      { name: "http", port: 80, targetPort: 8080, protocol: "TCP" },
      { name: "again", port: 81, targetPort: 8080, protocol: "TCP", appProtocol: "http" },
      { name: "tcp", port: 443, targetPort: "main", protocol: "TCP" },
    ],
  },
});
const slice = (endpoints: readonly unknown[], name = "web-1"): KubeObject =>
  object(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    name,
    { addressType: "IPv4", ports: [{ name: "http", port: 8080 }], endpoints },
    { labels: { "kubernetes.io/service-name": "web" } },
  );
const node = object(
  "v1",
  "Node",
  "n1",
  {},
  { namespace: undefined, labels: { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z" } },
);
const webKey = "shop/web.shop.svc.cluster.local";
const targetRef = (name: string) => ({ kind: "Pod", name, namespace: "shop" });

describe("Kubernetes services", () => {
  test("an endpoint has its pod's identity, locality and workload", () => {
    const { registry } = registryOf([
      web,
      node,
      pod("a", "10.1.0.1"),
      slice([{ addresses: ["10.1.0.1"], targetRef: targetRef("a") }]),
    ]);
    expect(registry.endpoints(webKey)).toMatchObject([
      {
        addresses: ["10.1.0.1"],
        port: 8080,
        identity: "spiffe://cluster.local/ns/shop/sa/web",
        locality: { region: "r", zone: "z", subZone: "" },
        workload: "a",
        tlsMode: "istio",
        health: "healthy",
        labels: { app: "web", "topology.kubernetes.io/zone": "z", "topology.istio.io/cluster": "Kubernetes" },
      },
    ]);
  });

  test("an endpoint whose pod is not known yet waits for it", () => {
    const { registry, put } = registryOf([web, slice([{ addresses: ["10.1.0.1"], targetRef: targetRef("a") }])]);
    expect(registry.endpoints(webKey)).toEqual([]);
    put(pod("a", "10.1.0.1"));
    expect(registry.endpoints(webKey)).toHaveLength(1);
  });

  test("an endpoint in two slices counts once", () => {
    const endpoint = { addresses: ["10.9.0.1"] };
    const { registry } = registryOf([web, slice([endpoint]), slice([endpoint], "web-2")]);
    expect(registry.endpoints(webKey)).toHaveLength(1);
  });

  test.each([
    [{}, "healthy"],
    [{ ready: false, serving: true, terminating: true }, "terminating"],
    [{ ready: false, terminating: false }, "unhealthy"],
  ])("conditions %j mean %s", (conditions, health) => {
    const { registry } = registryOf([web, slice([{ addresses: ["10.9.0.1"], conditions }])]);
    expect(registry.endpoints(webKey)[0]?.health).toBe(health);
  });

  test("a pod serves each target port and protocol once, named ports looked up in it", () => {
    const { registry } = registryOf([web, pod("a", "10.1.0.1")]);
    expect(registry.targets({ namespace: "shop", name: "a", addresses: ["10.1.0.1"] })).toEqual([
      { service: webKey, portName: "http", port: 80, targetPort: 8080 },
      { service: webKey, portName: "tcp", port: 443, targetPort: 8443 },
    ]);
  });

  test("a WorkloadEntry that the selector matches is an endpoint too", () => {
    const entry = object("networking.istio.io/v1", "WorkloadEntry", "vm", {
      spec: { address: "192.168.0.1", labels: { app: "web" }, serviceAccount: "web", ports: { main: 9443 } },
    });
    const { registry } = registryOf([web, entry]);
    expect(registry.endpoints(webKey).map(({ portName, port, tlsMode }) => [portName, port, tlsMode])).toEqual([
      ["http", 8080, "istio"],
      ["again", 8080, "istio"],
      ["tcp", 9443, "istio"],
    ]);
  });
});

describe("ServiceEntries", () => {
  const entry = (spec: Readonly<Record<string, unknown>>, name = "ext", rest = {}): KubeObject =>
    object("networking.istio.io/v1", "ServiceEntry", name, { spec, ...rest });
  const ports = [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }];

  test("one service per host; ranges of one address are that address, and nonsense is left out", () => {
    const { registry } = registryOf([
      entry({ hosts: ["a.com", "b.com"], addresses: ["10.0.0.0/8", "10.2.0.1/32", "x"], ports, resolution: "STATIC" }),
    ]);
    expect(registry.services.keys()).toEqual(["shop/a.com", "shop/b.com"]);
    expect(registry.services.get("shop/a.com")).toMatchObject({
      addresses: ["10.0.0.0/8", "10.2.0.1"],
      meshExternal: true,
      exportTo: ["*"],
    });
  });

  test("DNS without endpoints asks for the host itself", () => {
    const { registry } = registryOf([entry({ hosts: ["a.com"], ports, resolution: "DNS" })]);
    expect(registry.endpoints("shop/a.com")).toMatchObject([
      { addresses: ["a.com"], port: 8080, workload: "ext", labels: {} },
    ]);
  });

  test("selects ready pods and WorkloadEntries of its namespace", () => {
    const vm = object("networking.istio.io/v1", "WorkloadEntry", "vm", {
      spec: { address: "192.168.0.1", labels: { app: "web" }, ports: { http: 9090 } },
    });
    const named = object("networking.istio.io/v1", "WorkloadEntry", "dns", {
      spec: { address: "vm.example.com", labels: { app: "web" } },
    });
    const { registry } = registryOf([
      entry({ hosts: ["a.com"], ports, resolution: "STATIC", workloadSelector: { labels: { app: "web" } } }),
      pod("a", "10.1.0.1"),
      pod("b", "10.1.0.2", { app: "other" }),
      vm,
      named,
    ]);
    expect(registry.endpoints("shop/a.com").map(({ addresses, port }) => `${addresses[0]}:${port}`)).toEqual([
      "10.1.0.1:8080",
      "192.168.0.1:9090",
    ]);
    expect(registry.targets({ namespace: "shop", name: "a", addresses: ["10.1.0.1"] })).toEqual([
      { service: "shop/a.com", portName: "http", port: 80, targetPort: 8080 },
    ]);
  });

  test("allocated addresses are read from the status, unless the owner gave some or opted out", () => {
    const status = {
      addresses: [
        { host: "a.com", value: "240.240.0.1" },
        { host: "b.com", value: "240.240.0.2" },
      ],
    };
    const auto = (spec: Readonly<Record<string, unknown>>): readonly string[] | undefined =>
      registryOf([entry({ hosts: ["a.com"], ports, ...spec }, "ext", { status })]).registry.services.get("shop/a.com")
        ?.autoAddresses;
    expect(auto({ resolution: "DNS" })).toEqual(["240.240.0.1"]);
    expect(auto({ resolution: "NONE" })).toEqual([]);
    expect(auto({ resolution: "DNS", addresses: ["10.0.0.1"] })).toEqual([]);
  });

  test("a Kubernetes Service has the name before a ServiceEntry, and both give endpoints", () => {
    const squatter = entry({
      hosts: ["web.shop.svc.cluster.local"],
      ports,
      resolution: "STATIC",
      endpoints: [{ address: "192.168.0.9" }],
    });
    const { registry } = registryOf([web, squatter, slice([{ addresses: ["10.9.0.1"] }])]);
    expect(registry.services.get(webKey)?.registry).toBe("Kubernetes");
    expect(registry.endpoints(webKey).map(({ addresses }) => addresses[0])).toEqual(["10.9.0.1", "192.168.0.9"]);
  });

  test("the mesh's owner may narrow who sees entries, never widen it", () => {
    const policy = (visibility: "NONE" | "NAMESPACE") => ({
      serviceEntryVisibility: {
        applyToSidecars: true,
        defaultVisibility: "PUBLIC" as const,
        policies: [{ visibility, matchingRules: [{ namespaceSelector: { matchLabels: { tier: "x" } } }] }],
      },
    });
    const namespace = object("v1", "Namespace", "shop", {}, { namespace: undefined, labels: { tier: "x" } });
    const exported = (exportTo: readonly string[], settings: MeshConfigSpec): readonly string[] | undefined =>
      registryOf(
        [namespace, entry({ hosts: ["a.com"], ports, resolution: "DNS", exportTo })],
        settings,
      ).registry.services.get("shop/a.com")?.exportTo;
    expect(exported(["*"], policy("NAMESPACE"))).toEqual(["."]);
    expect(exported(["bank"], policy("NAMESPACE"))).toEqual(["~"]);
    expect(exported(["*"], policy("NONE"))).toEqual(["~"]);
    expect(exported(["bank"], {})).toEqual(["bank"]);
  });

  test("two entries for one host are two services that share their endpoints, the older first", () => {
    const { registry } = registryOf([
      entry({ hosts: ["a.com"], ports, resolution: "DNS" }, "one"),
      entry({ hosts: ["a.com"], ports: [{ number: 443, name: "tls", protocol: "TLS" }], resolution: "DNS" }, "two"),
    ]);
    const keys = ["shop/a.com", "shop/a.com#ServiceEntry/shop/two"];
    expect(keys.map((key) => registry.services.get(key)?.ports[0]?.port)).toEqual([80, 443]);
    expect(keys.map((key) => registry.endpoints(key).map(({ servicePort }) => servicePort))).toEqual([
      [80, 443],
      [80, 443],
    ]);
  });
});
