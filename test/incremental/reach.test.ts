/**
 * Which proxies are told of a change, and of what: objects are changed in one of three namespaces, and what comes on the
 * streams of their proxies is compared with what concerns them. After it something changes that concerns all of them: what
 * has come by the time they have this, by each type, is all that they were told.
 */
import { expect, test } from "vitest";
import { type KubeObject, type ResourceType, types } from "../../src/model/index.ts";
import type { LiveProxy } from "./proxies.ts";
import { createReferrer } from "./references.ts";
import { noTroubles, openStream, type StreamClient, type Variant } from "./stream-client.ts";
import { createWorld } from "./world.ts";

type Spec = Readonly<Record<string, unknown>>;

function object(apiVersion: string, kind: string, key: string, spec: Spec, metadata: Spec = {}): KubeObject {
  const [namespace = "", name = ""] = key.split("/");
  return { apiVersion, kind, metadata: { name, namespace, ...metadata }, spec };
}

const networking = (kind: string, key: string, spec: Spec) => object("networking.istio.io/v1", kind, key, spec);
const security = (kind: string, key: string, spec: Spec) => object("security.istio.io/v1", kind, key, spec);

interface ServiceChoices {
  readonly ports?: readonly Spec[];
  readonly labels?: Spec;
  readonly annotations?: Spec;
}

const httpPort = { name: "http", port: 80, targetPort: 8080 };

function service(key: string, clusterIP: string, { ports = [httpPort], ...metadata }: ServiceChoices = {}): KubeObject {
  return object("v1", "Service", key, { clusterIP, ports, selector: { app: key.split("/")[1] } }, metadata);
}

function slice(key: string, address: string, annotations: Spec = {}): KubeObject {
  const labels = { "kubernetes.io/service-name": key.split("/")[1] };
  return {
    ...object("discovery.k8s.io/v1", "EndpointSlice", key, {}, { labels, annotations }),
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
}

function pod(key: string, podIP: string, { probedAt = "", annotations = {} } = {}): KubeObject {
  const labels = { app: key.split("/")[1], "security.istio.io/tlsMode": "istio" };
  const conditions = [{ type: "Ready", status: "True", lastProbeTime: probedAt }];
  return {
    ...object("v1", "Pod", key, { containers: [{ name: "app" }] }, { labels, annotations }),
    status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions },
  };
}

const node = (heartbeat: string): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Node", metadata: { name: "n" } },
  status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: heartbeat }] },
});

const ownOnly = { annotations: { "networking.istio.io/exportTo": "." } };
const variants: readonly Variant[] = ["delta", "sotw"];
const namespaces = ["a", "b", "c"];
/** Two in the namespace whose objects change. */
const proxies = ["a/web", "a/other", "b/web", "c/web"];

const mesh: readonly KubeObject[] = [
  node("1"),
  ...namespaces.flatMap((namespace, i) => [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    service(`${namespace}/web`, `10.96.0.${i}`),
    slice(`${namespace}/web`, `10.0.${i}.1`),
    pod(`${namespace}/web`, `10.0.${i}.1`),
  ]),
  pod("a/other", "10.0.0.2"),
  pod("a/spare", "10.0.0.6"),
  service("a/own", "10.96.1.1", ownOnly),
  slice("a/own", "10.0.0.3"),
  networking("Gateway", "c/web", {
    selector: { app: "gateway" },
    servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  }),
];

const lastHost = "last.shared.svc.cluster.local";

/** Something of each type that all proxies have; it is another one with each number. */
const last = (number: number): readonly KubeObject[] => [
  service("shared/last", "10.96.9.9", {
    ports: [
      { name: "http", port: 7000 },
      { name: "tcp", port: 7001 },
    ],
  }),
  slice("shared/last", `10.9.9.${number}`),
  networking("DestinationRule", "shared/last", {
    host: lastHost,
    trafficPolicy: {
      loadBalancer: { consistentHash: { httpHeaderName: `x-${number}` } },
      connectionPool: { tcp: { maxConnections: number } },
    },
  }),
  networking("VirtualService", "shared/last", {
    hosts: [lastHost],
    tcp: [
      {
        match: [{ port: 7001 }],
        route: [
          { destination: { host: lastHost, port: { number: 7000 } }, weight: number },
          { destination: { host: lastHost, port: { number: 7001 } }, weight: 100 - number },
        ],
      },
    ],
  }),
];

const lastNames = new Map<ResourceType, string>([
  [types.cluster, `outbound|7000||${lastHost}`],
  [types.endpoint, `outbound|7000||${lastHost}`],
  [types.listener, "10.96.9.9_7001"],
  [types.route, "7000"],
]);

const isOfLast = (name: string): boolean => name.includes(lastHost) || name === "10.96.9.9_7001" || name === "7000";

function proxyOf(key: string): LiveProxy {
  const [namespace = "", app = ""] = key.split("/");
  const address = mesh.map(({ kind, metadata, status }) =>
    kind === "Pod" && metadata.namespace === namespace && metadata.name === app ? (status as Spec)["podIP"] : "",
  );
  const id = `sidecar~${address.join("")}~${app}.${namespace}~${namespace}.svc.cluster.local`;
  return {
    name: key,
    identity: { trustDomain: "cluster.local", namespace, serviceAccount: "default" },
    node: {
      ...{ id, cluster: app, locality: { region: "", zone: "", subZone: "" }, extensions: new Set(), userAgent: "" },
      metadata: { NAMESPACE: namespace, LABELS: { app }, INSTANCE_IPS: address.join(""), SERVICE_ACCOUNT: "default" },
    },
  };
}

const short = (type: ResourceType): string => type.slice(type.lastIndexOf(".") + 1);

async function start() {
  const world = await createWorld([...mesh, ...last(1)]);
  const [port, referrer] = [await world.listen(), await createReferrer()];
  const heard = new Map<string, string[]>();
  const open = (proxy: string, variant: Variant): Promise<StreamClient> => {
    const all: string[] = [];
    heard.set(`${proxy} ${variant}`, all);
    return openStream(port, proxyOf(proxy), variant, referrer, noTroubles, ({ type, came, gone }) => {
      const names = [...came, ...gone.map((name) => `-${name}`)];
      const others = names.filter((name) => !isOfLast(name));
      // One without anything in it is a response too.
      if (others.length > 0 || names.length === 0) all.push([short(type), ...others.toSorted()].join(" "));
    });
  };
  const streams = await Promise.all(proxies.flatMap((proxy) => variants.map((variant) => open(proxy, variant))));
  /** Until each has another version of what all have, of each type. */
  const changeForAll = async (number: number): Promise<void> => {
    const before = streams.map(({ held }) =>
      Array.from(lastNames, ([type, name]) => [type, name, held(type).get(name)] as const),
    );
    world.change(last(number), []);
    for (const [i, stream] of streams.entries())
      for (const [type, name, had] of before[i] ?? [])
        while (stream.held(type).get(name) === had) await stream.changed();
  };
  for (const stream of streams)
    for (const [type, name] of [...lastNames, [types.route, "80"] as const])
      while (!stream.held(type).has(name)) await stream.changed();
  await changeForAll(2);
  for (const all of heard.values()) all.length = 0;
  return {
    world,
    changeForAll,
    /** By stream, where anything was told. */
    heard: () => Object.fromEntries([...heard].filter(([, all]) => all.length > 0)),
    async close() {
      for (const stream of streams) stream.close();
      await world.close();
    },
  };
}

interface Case {
  readonly apply: readonly KubeObject[];
  /** By proxy, responses with what is in them; the others are told nothing. */
  readonly told: Readonly<Record<string, readonly string[]>>;
}

const inA = (...told: readonly string[]): Case["told"] => ({ "a/web": told, "a/other": told });
const inOthers = (...told: readonly string[]): Case["told"] => ({ "b/web": told, "c/web": told });

const clusterOf = (service: string): string => `outbound|80||${service}.svc.cluster.local`;
const endpointsOf = (...services: readonly string[]): readonly string[] => [
  ["ClusterLoadAssignment", ...services.map(clusterOf)].join(" "),
];
/** A cluster that is another one waits for endpoints anew. */
const withEndpoints = (...services: readonly string[]): readonly string[] => [
  ["Cluster", ...services.map(clusterOf)].join(" "),
  ...endpointsOf(...services),
];

const toWebOfB = { destination: { host: "web.b.svc.cluster.local" } };

const cases: Readonly<Record<string, Case>> = {
  "a Sidecar of a namespace": {
    apply: [networking("Sidecar", "a/default", { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } })],
    told: inA("Listener 0.0.0.0_7000 0.0.0.0_80 virtualOutbound", "RouteConfiguration 80"),
  },
  "a VirtualService for its own namespace": {
    apply: [
      networking("VirtualService", "a/v", {
        exportTo: ["."],
        hosts: ["web.b.svc.cluster.local"],
        http: [{ timeout: "1s", route: [toWebOfB] }],
      }),
    ],
    told: inA("RouteConfiguration 80"),
  },
  "a DestinationRule for its own namespace": {
    apply: [
      networking("DestinationRule", "a/r", {
        exportTo: ["."],
        // Of a host of another namespace nobody else would take it anyway.
        host: "web.a.svc.cluster.local",
        trafficPolicy: { connectionPool: { tcp: { maxConnections: 5 } } },
      }),
    ],
    told: {
      // Which is the server too.
      "a/web": [`Cluster inbound|8080|| ${clusterOf("web.a")}`, ...endpointsOf("web.a")],
      "a/other": withEndpoints("web.a"),
    },
  },
  "a PeerAuthentication of a namespace": {
    apply: [security("PeerAuthentication", "a/p", { mtls: { mode: "STRICT" } })],
    told: inA("Listener virtualInbound"),
  },
  "a PeerAuthentication of a namespace that says no to mutual TLS": {
    apply: [security("PeerAuthentication", "a/p", { mtls: { mode: "DISABLE" } })],
    told: {
      ...inA(...withEndpoints("own.a", "web.a"), "Listener virtualInbound"),
      ...inOthers(...withEndpoints("web.a")),
    },
  },
  "a RequestAuthentication of a workload": {
    apply: [
      security("RequestAuthentication", "a/r", {
        selector: { matchLabels: { app: "web" } },
        jwtRules: [{ issuer: "i", jwks: '{"keys":[]}' }],
      }),
    ],
    told: { "a/web": ["Listener virtualInbound"] },
  },
  "an AuthorizationPolicy of a namespace": {
    apply: [security("AuthorizationPolicy", "a/p", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }] })],
    told: inA("Listener virtualInbound"),
  },
  "a Telemetry of a namespace": {
    apply: [
      object("telemetry.istio.io/v1", "Telemetry", "a/t", {
        accessLogging: [{ match: { mode: "SERVER" }, providers: [{ name: "envoy" }] }],
      }),
    ],
    told: inA("Listener virtualInbound"),
  },
  "an EnvoyFilter of a namespace": {
    apply: [
      object("networking.istio.io/v1alpha3", "EnvoyFilter", "a/f", {
        configPatches: [
          {
            applyTo: "CLUSTER",
            match: { cluster: { service: "web.b.svc.cluster.local" } },
            patch: { operation: "MERGE", value: { connect_timeout: "7s" } },
          },
        ],
      }),
    ],
    told: inA(...withEndpoints("web.b")),
  },
  "a WasmPlugin of a workload": {
    apply: [
      object("extensions.istio.io/v1alpha1", "WasmPlugin", "a/w", {
        selector: { matchLabels: { app: "web" } },
        url: "file:///w.wasm",
      }),
    ],
    told: {
      "a/web": [
        "Listener 0.0.0.0_7000 0.0.0.0_80 virtualInbound",
        "TypedExtensionConfig extensions.istio.io/trafficextension/a.w~istio-translated-wasmplugin",
      ],
    },
  },
  "a ProxyConfig, and annotations that a proxy reads when it starts": {
    apply: [
      networking("ProxyConfig", "a/p", { concurrency: 3 }),
      pod("a/web", "10.0.0.1", { annotations: { "proxy.istio.io/config": "concurrency: 3" } }),
    ],
    told: {},
  },
  "a Service for its own namespace": {
    apply: [service("a/new", "10.96.1.2", ownOnly), slice("a/new", "10.0.0.4")],
    told: inA(...withEndpoints("new.a"), "RouteConfiguration 80"),
  },
  "an endpoint of a Service for its own namespace": {
    apply: [slice("a/own", "10.0.0.5")],
    told: inA(...endpointsOf("own.a")),
  },
  "an endpoint of a Service for all": {
    apply: [slice("a/web", "10.0.0.6")],
    told: { ...inA(...endpointsOf("web.a")), ...inOthers(...endpointsOf("web.a")) },
  },
  "a Service for all of which only labels and annotations change": {
    apply: [service("a/web", "10.96.0.0", { labels: { team: "x" }, annotations: { "example.com/seen": "1" } })],
    told: {},
  },
  "a Pod, a Node and endpoints that are alive still": {
    apply: [
      pod("a/web", "10.0.0.1", { probedAt: "2026-01-01T00:00:00Z" }),
      node("2"),
      slice("a/web", "10.0.0.1", { "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z" }),
    ],
    told: {},
  },
  "a route of a gateway that nobody is": {
    apply: [
      networking("VirtualService", "a/v", {
        hosts: ["example.com"],
        gateways: ["c/web"],
        http: [{ route: [toWebOfB] }],
      }),
    ],
    told: {},
  },
};

test.each(Object.entries(cases))("%s is told to those whom it concerns, once, and to nobody else", async (_, one) => {
  const { world, heard, changeForAll, close } = await start();
  world.change(one.apply, []);
  await world.settled();
  const told = Object.fromEntries(
    Object.entries(one.told).flatMap(([proxy, all]) => variants.map((variant) => [`${proxy} ${variant}`, all])),
  );
  // What they are told may come in several steps, such as a cluster before its route.
  const known = (): object => Object.fromEntries(Object.entries(heard()).filter(([stream]) => stream in told));
  await expect.poll(known, { interval: 5 }).toEqual(told);
  await changeForAll(3);
  expect(heard()).toEqual(told);
  expect(world.faults()).toEqual([]);
  await close();
});
