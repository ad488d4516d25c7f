/** EnvoyFilters through the front door: order, places, what is skipped and told, and what a change costs. */
import { describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { bytesOf, type KubeObject, type ResourceType, types } from "../../src/model/index.ts";
import {
  createEnvoyTypes,
  createJsonPrinter,
  createRenderer,
  type PatchReport,
  sayReport,
} from "../../src/render/index.ts";
import { istio, pod, service, slice } from "./objects.ts";
import type { Json } from "./offline.ts";

const print = createJsonPrinter();

interface FilterOptions {
  readonly namespace?: string;
  readonly priority?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly created?: string;
}

function filter(name: string, patches: readonly object[], options: FilterOptions = {}): KubeObject {
  const { namespace = "default", priority, labels, created } = options;
  return {
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name, namespace, ...(created ? { creationTimestamp: created } : {}) },
    spec: {
      ...(priority === undefined ? {} : { priority }),
      ...(labels ? { workloadSelector: { labels } } : {}),
      configPatches: patches,
    },
  };
}

const manager = "envoy.filters.network.http_connection_manager";
const lua = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";
const before = (name: string) => ({ filterChain: { filter: { name: manager, subFilter: { name } } } });

/** Puts an HTTP filter of that name before the router of the inbound chains. */
const inserts = (name: string, proxy?: object) => ({
  applyTo: "HTTP_FILTER",
  match: { context: "SIDECAR_INBOUND", listener: before("envoy.filters.http.router"), ...(proxy ? { proxy } : {}) },
  patch: { operation: "INSERT_BEFORE", value: { name, typedConfig: { "@type": lua } } },
});

const cluster = (operation: string, value?: object, match: object = { context: "SIDECAR_OUTBOUND" }) => ({
  applyTo: "CLUSTER",
  match,
  patch: { operation, ...(value ? { value } : {}) },
});

const web = "outbound|80||web.default.svc.cluster.local";

/** A workload that serves `web` and has a sidecar. */
const mesh: readonly KubeObject[] = [
  pod("web", { proxy: "sidecar", address: "10.0.0.1" }),
  service("web"),
  slice("web", [{ address: "10.0.0.1", pod: "web" }]),
];

async function setUp(objects: readonly KubeObject[]) {
  const offline = createOffline({ objects: [...mesh, ...objects] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  await envoyTypes.load();
  const reports: PatchReport[] = [];
  let invalidated = 0;
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy), {
    envoyTypes,
    onPatch: (report) => reports.push(report),
    onInvalidate: () => invalidated++,
    onFault: ({ name, error }) => {
      throw new Error(`${name} could not be rendered`, { cause: error });
    },
  });
  const get = (type: ResourceType, name: string): Json => {
    const found = renderer.all(type).get(name);
    return found && print(type, bytesOf(found));
  };
  /** Names of the HTTP filters of the first inbound chain, without Istio's own. */
  const own = (): readonly string[] => {
    const chains: Json[] = get(types.listener, "virtualInbound").filterChains;
    const http = chains.flatMap(({ filters }) => filters).find(({ name }: Json) => name === manager);
    return http.typedConfig.httpFilters
      .map(({ name }: Json) => name)
      .filter((name: string) => !/^(envoy|istio)\./.test(name));
  };
  const problems = (): readonly string[] =>
    reports.flatMap(({ filter: name, field, problem }) => (problem ? [`${name} ${field}: ${problem}`] : []));
  return { offline, proxy, renderer, get, own, reports, problems, invalidations: () => invalidated };
}

describe("order", () => {
  test("priority, then the root namespace, then age, then name with the namespace behind it", async () => {
    const { own } = await setUp([
      filter("late", [inserts("late")], { priority: 5 }),
      filter("young", [inserts("young")], { created: "2026-01-02T00:00:00Z" }),
      filter("old", [inserts("old")], { created: "2026-01-01T00:00:00Z" }),
      filter("a", [inserts("a")]),
      filter("a-b", [inserts("a-b")]),
      filter("z-root", [inserts("z-root")], { namespace: "istio-system", created: "2026-01-03T00:00:00Z" }),
      filter("early", [inserts("early")], { priority: -1 }),
    ]);
    expect(own()).toEqual(["early", "z-root", "a-b", "a", "old", "young", "late"]);
  });
});

describe("which proxies", () => {
  test("by labels, namespace, version and metadata", async () => {
    const { own } = await setUp([
      filter("mine", [inserts("mine")], { labels: { app: "web" } }),
      filter("other", [inserts("other")], { labels: { app: "shop" } }),
      filter("elsewhere", [inserts("elsewhere")], { namespace: "other" }),
      filter("by-version", [
        inserts("found", { proxyVersion: "1\\.28" }),
        inserts("not-found", { proxyVersion: "^28" }),
        inserts("both", { proxyVersion: "^1", metadata: { WORKLOAD_NAME: "web" } }),
      ]),
      filter("by-metadata", [
        inserts("account", { metadata: { SERVICE_ACCOUNT: "web" } }),
        inserts("wrong", { metadata: { SERVICE_ACCOUNT: "shop" } }),
        inserts("unknown", { metadata: { constructor: "x" } }),
      ]),
    ]);
    expect(own()).toEqual(["account", "found", "both", "mine"]);
  });

  test("what no EnvoyFilter looks at does not tell proxies apart", async () => {
    const { offline, proxy } = await setUp([filter("f", [inserts("f", { metadata: { A: "1" } })])]);
    const classOf = (allMetadata: Readonly<Record<string, string>>) => offline.classOf({ ...proxy, allMetadata });
    expect(classOf({ A: "1", B: "1" })).toEqual(classOf({ A: "1", B: "2" }));
    expect(classOf({ A: "1" })).not.toEqual(classOf({ A: "2" }));
  });
});

describe("which chains", () => {
  test("by the socket that handles their bytes, where one without any has Envoy's default", async () => {
    const marks = (socket: string, seconds: number) => ({
      applyTo: "FILTER_CHAIN",
      match: {
        listener: { name: "virtualInbound", filterChain: { transportSocket: `envoy.transport_sockets.${socket}` } },
      },
      patch: { operation: "MERGE", value: { transportSocketConnectTimeout: `${seconds}s` } },
    });
    const { get } = await setUp([filter("f", [marks("tls", 3), marks("raw_buffer", 4), marks("quic", 5)])]);
    const chains: Json[] = get(types.listener, "virtualInbound").filterChains;
    const marked = (terminates: boolean) =>
      chains
        .filter(({ transportSocket }) => (transportSocket !== undefined) === terminates)
        .map(({ transportSocketConnectTimeout }) => transportSocketConnectTimeout);
    expect(new Set(marked(true))).toEqual(new Set(["3s"]));
    expect(new Set(marked(false))).toEqual(new Set(["4s"]));
  });
});

describe("what is asked for follows the patches", () => {
  test("a removed cluster has no endpoints, an added one has its own", async () => {
    const eds = { name: "mine", type: "EDS", edsClusterConfig: { serviceName: web, edsConfig: { ads: {} } } };
    const empty = { name: "empty", type: "EDS", edsClusterConfig: { edsConfig: { ads: {} } } };
    const { renderer, get } = await setUp([
      filter("c", [
        cluster("REMOVE", undefined, { cluster: { name: web } }),
        cluster("ADD", eds),
        cluster("ADD", empty),
      ]),
    ]);
    expect(get(types.cluster, web)).toBeUndefined();
    expect([...renderer.all(types.endpoint).keys()].sort()).toEqual(["empty", web]);
    expect(get(types.endpoint, "empty")).toEqual({ clusterName: "empty" });
    expect(renderer.get(types.cluster, "mine")?.needs).toEqual([web]);
  });

  test("routes go with their listener, and a route that is nobody's is empty", async () => {
    const http = {
      name: "added",
      address: { socketAddress: { address: "127.0.0.1", portValue: 1 } },
      filterChains: [
        {
          filters: [
            {
              name: manager,
              typedConfig: {
                "@type": `type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
                rds: { routeConfigName: "nobody's", configSource: { ads: {} } },
              },
            },
          ],
        },
      ],
    };
    const { renderer, get } = await setUp([
      filter("l", [
        { applyTo: "LISTENER", match: { listener: { portNumber: 80 } }, patch: { operation: "REMOVE" } },
        { applyTo: "LISTENER", patch: { operation: "ADD", value: http } },
      ]),
    ]);
    expect([...renderer.all(types.listener).keys()]).not.toContain("0.0.0.0_80");
    expect([...renderer.all(types.route).keys()]).toEqual(["nobody's"]);
    expect(get(types.route, "nobody's")).toEqual({ name: "nobody's", validateClusters: false });
  });

  test("an extension is served where a filter asks for it", async () => {
    const config = (name: string) => ({
      applyTo: "EXTENSION_CONFIG",
      match: { context: "GATEWAY" },
      patch: { operation: "ADD", value: { name, typedConfig: { "@type": lua } } },
    });
    const discovers = {
      ...inserts("asked"),
      patch: { operation: "INSERT_BEFORE", value: { name: "asked", configDiscovery: { configSource: { ads: {} } } } },
    };
    const { renderer } = await setUp([filter("e", [config("asked"), config("unasked"), discovers])]);
    expect([...renderer.all(types.extension).keys()]).toEqual(["asked"]);
  });

  test("a resource may come to have another name; of two with one name the first stays", async () => {
    const { renderer, get } = await setUp([
      filter("n", [
        cluster("MERGE", { name: "renamed" }, { cluster: { name: web } }),
        cluster("ADD", { name: "PassthroughCluster", altStatName: "mine" }),
        cluster("ADD", { name: "twice", altStatName: "first" }),
        cluster("ADD", { name: "twice", altStatName: "second" }),
      ]),
    ]);
    expect(renderer.get(types.cluster, web)).toBeUndefined();
    expect(get(types.cluster, "renamed").edsClusterConfig.serviceName).toBe(web);
    expect(get(types.cluster, "PassthroughCluster").type).toBe("ORIGINAL_DST");
    expect(get(types.cluster, "twice").altStatName).toBe("first");
  });

  test("a route that is added waits for the cluster that it names", async () => {
    const host = { name: "h", domains: ["h"], routes: [{ match: { prefix: "/" }, route: { cluster: "extra" } }] };
    const { renderer } = await setUp([
      filter("v", [
        {
          applyTo: "VIRTUAL_HOST",
          match: { context: "SIDECAR_OUTBOUND" },
          patch: { operation: "ADD", value: host },
        },
      ]),
    ]);
    expect(renderer.get(types.route, "80")?.needs).toContain("extra");
  });
});

describe("a patch that cannot apply is skipped and told, and the rest is served", () => {
  const good = inserts("good");
  test.each<[string, object, RegExp]>([
    [
      "an unknown type",
      { ...good, patch: { operation: "ADD", value: { name: "x", typedConfig: { "@type": "t/no.Such" } } } },
      /typedConfig: the type t\/no\.Such is not known/,
    ],
    ["a value that is none", cluster("MERGE", { lbPolicy: "FASTEST" }), /lbPolicy: FASTEST is not a value/],
    ["no value", cluster("MERGE"), /MERGE needs a value/],
    ["an operation without effect", cluster("REPLACE", { name: "x" }), /REPLACE has no effect on CLUSTER/],
    ["no operation", { applyTo: "CLUSTER", patch: { value: {} } }, /INVALID has no effect on CLUSTER/],
    ["a version that is no pattern", inserts("x", { proxyVersion: "(" }), /match.proxy.proxyVersion: /],
    ["a version that is too long", inserts("x", { proxyVersion: "a".repeat(1025) }), /1025 characters/],
    [
      "a merge of two types",
      {
        ...good,
        match: { context: "SIDECAR_INBOUND", listener: before("envoy.filters.http.router") },
        patch: { operation: "MERGE", value: { typedConfig: { "@type": lua } } },
      },
      /envoy\.filters\.http\.router: .*Lua cannot be merged into .*Router/,
    ],
    [
      "a socket where there is no place for one",
      cluster("MERGE", { transportSocket: { name: "x" } }, { cluster: { name: web } }),
      /no transport socket match of the cluster is x/,
    ],
    [
      "a chain without filters",
      {
        applyTo: "FILTER_CHAIN",
        match: { listener: { name: "virtualInbound" } },
        patch: { operation: "ADD", value: { name: "x" } },
      },
      /a filter chain needs filters/,
    ],
    [
      "a merge into listener filters of other types",
      {
        applyTo: "LISTENER_FILTER",
        match: {
          context: "SIDECAR_INBOUND",
          listener: { name: "virtualInbound", listenerFilter: "envoy.filters.listener.tls_inspector" },
        },
        patch: {
          operation: "MERGE",
          value: {
            typedConfig: {
              "@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector",
            },
          },
        },
      },
      /original_dst: .* the types differ/,
    ],
  ])("%s", async (_, patch, problem) => {
    const { own, problems, reports, renderer } = await setUp([filter("bad", [patch, good])]);
    for (const type of [types.cluster, types.listener, types.route]) renderer.all(type);
    expect(own()).toEqual(["good"]);
    expect(problems()).toEqual([expect.stringMatching(/^default\/bad spec\.configPatches\[0\]: /)]);
    expect(problems()[0]).toMatch(problem);
    expect(reports).toContainEqual({
      filter: "default/bad",
      field: "spec.configPatches[1]",
      kind: "httpfilter",
      problem: undefined,
      leftOut: [],
    });
  });

  test("fields that are not known are left out and told", async () => {
    const { reports, get, renderer } = await setUp([
      filter("newer", [cluster("MERGE", { altStatName: "x", newer: 1, outlierDetection: { newest: {} } })]),
    ]);
    renderer.all(types.cluster);
    expect(get(types.cluster, web).altStatName).toBe("x");
    expect(reports.map(sayReport)).toEqual([
      "EnvoyFilter/default/newer spec.configPatches[0] has fields that are not known, which are left out: newer, outlierDetection.newest",
    ]);
  });

  test("what Envoy 1.40 knows is taken: newer fields, values, types and rules", async () => {
    const typed = (type: string, config: object) => ({
      "@type": `type.googleapis.com/envoy.extensions.filters.http.${type}`,
      ...config,
    });
    const configs = [
      typed("lua.v3.Lua", { filterContext: { a: "b" }, sharedVmId: "one" }),
      typed("ext_proc.v3.ExternalProcessor", {
        httpService: {
          httpService: { httpUri: { uri: "http://e.example", cluster: "e", timeout: "1s" } },
        },
        processingMode: { requestBodyMode: "FULL_DUPLEX_STREAMED" },
      }),
      typed("api_key_auth.v3.ApiKeyAuth", { keySources: [{ header: "x-key" }] }),
      typed("local_ratelimit.v3.LocalRateLimit", {
        ...{ statPrefix: "limit", enableRetryAfterHeader: true },
        tokenBucket: { maxTokens: 0, fillInterval: "1s" },
      }),
    ];
    const patches = configs.map((typedConfig, i) => {
      const patch = inserts(`newer-${i}`);
      return { ...patch, patch: { ...patch.patch, value: { name: `newer-${i}`, typedConfig } } };
    });
    const upstream = { upstreamConnectionOptions: { happyEyeballsConfig: { firstAddressFamilyVersion: "PIPE" } } };
    const { get, own, problems } = await setUp([filter("newer", [...patches, cluster("MERGE", upstream)])]);
    expect(own()).toEqual(configs.map((_, i) => `newer-${i}`));
    expect(get(types.cluster, web)).toMatchObject(upstream);
    const chains: Json[] = get(types.listener, "virtualInbound").filterChains;
    const http = chains.flatMap(({ filters }) => filters).find(({ name }: Json) => name === manager);
    const made: readonly Json[] = http.typedConfig.httpFilters.filter(({ name }: Json) => /^newer/.test(name));
    expect(made[0].typedConfig).toEqual(configs[0]);
    expect(made[1].typedConfig).toMatchObject(configs[1] ?? {});
    expect(problems()).toEqual([]);
  });

  test("everything removed is nothing sent", async () => {
    const all = ["LISTENER", "CLUSTER"].map((applyTo) => ({ applyTo, patch: { operation: "REMOVE" } }));
    const { renderer, problems } = await setUp([filter("all", all)]);
    for (const type of [types.listener, types.cluster, types.route, types.endpoint])
      expect([...renderer.all(type).keys()]).toEqual([]);
    expect(problems()).toEqual([]);
  });

  test("ten thousand patches, each second one bad", async () => {
    const bad = cluster("MERGE", { lbPolicy: "FASTEST" });
    const good = (name: string) => ({ ...inserts(name), patch: { operation: "INSERT_FIRST", value: { name } } });
    const many = Array.from({ length: 10_000 }, (_, i) => (i % 2 ? bad : good(`f${i}`)));
    const { own, renderer, problems } = await setUp([filter("many", many)]);
    renderer.all(types.cluster);
    expect(own().length).toBe(5_000);
    expect(problems().length).toBe(5_000);
  });
});

describe("what it costs", () => {
  test("without EnvoyFilters no type is loaded", async () => {
    const offline = createOffline({ objects: mesh });
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    let loads = 0;
    const envoyTypes = createEnvoyTypes(offline.mesh.graph);
    const counted = {
      ...envoyTypes,
      current() {
        loads++;
        return envoyTypes.current();
      },
    };
    const renderer = createRenderer(offline.mesh, offline.classOf(proxy), { envoyTypes: counted });
    for (const type of Object.values(types)) renderer.all(type);
    expect(loads).toBe(0);
  });

  test("types that come late bring the patches with them", async () => {
    const offline = createOffline({ objects: [...mesh, filter("f", [cluster("MERGE", { altStatName: "patched" })])] });
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    const told = Promise.withResolvers<void>();
    const renderer = createRenderer(offline.mesh, offline.classOf(proxy), { onInvalidate: told.resolve });
    const statName = () => {
      const found = renderer.get(types.cluster, web);
      return found && print(types.cluster, bytesOf(found)).altStatName;
    };
    renderer.all(types.cluster);
    expect(statName()).not.toBe("patched");
    await told.promise;
    expect([...renderer.refresh().keys()]).toContain(types.cluster);
    expect(statName()).toBe("patched");
  });

  test("a change reaches the kinds of resources that it patches, and only proxies that it is for", async () => {
    const { offline, proxy, renderer, invalidations } = await setUp([filter("f", [inserts("f")])]);
    for (const type of Object.values(types)) renderer.all(type);
    offline.source.apply([filter("f", [inserts("g")])]);
    expect([...renderer.refresh().keys()]).toEqual([types.listener]);
    const [before, rendered, marked] = [offline.classOf(proxy), renderer.rendered, invalidations()];
    offline.source.apply([filter("other", [inserts("x")], { labels: { app: "shop" } })]);
    offline.source.apply([filter("elsewhere", [inserts("x")], { namespace: "other" })]);
    expect(offline.classOf(proxy)).toEqual(before);
    expect([renderer.refresh().size, renderer.rendered, invalidations()]).toEqual([0, rendered, marked]);
    // One more that selects the proxy puts it into another class.
    offline.source.apply([filter("c", [cluster("MERGE", { altStatName: "x" })])]);
    expect(offline.classOf(proxy).envoyFilters).toEqual(["default/c", "default/f"]);
  });

  test("each patched resource names the patches that made it", async () => {
    const { renderer } = await setUp([
      filter("f", [inserts("f"), cluster("MERGE", { altStatName: "x" }, { cluster: { name: web } })]),
    ]);
    for (const type of Object.values(types)) renderer.all(type);
    const causes = (type: ResourceType, name: string) =>
      renderer
        .causes(type, name)
        .filter(({ object }) => object === "EnvoyFilter/default/f")
        .map(({ field }) => field);
    expect(causes(types.cluster, web)).toContain("spec.configPatches[1]");
    expect(causes(types.cluster, web)).not.toContain("spec.configPatches[0]");
    expect(causes(types.listener, "virtualInbound")).toContain("spec.configPatches[0]");
  });
});

test("a gateway is patched by the port that its Gateway names", async () => {
  const objects = [
    pod("edge", { proxy: "router", address: "10.0.0.2", labels: { istio: "edge" } }),
    service("edge"),
    slice("edge", [{ address: "10.0.0.2", pod: "edge" }]),
    service("web"),
    istio("Gateway", "g", {
      selector: { istio: "edge" },
      servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
    }),
    istio("VirtualService", "v", {
      hosts: ["*"],
      gateways: ["g"],
      http: [{ route: [{ destination: { host: "web" } }] }],
    }),
    filter("r", [
      ...[80, 8080].map((portNumber) => ({
        applyTo: "ROUTE_CONFIGURATION",
        match: { context: "GATEWAY", routeConfiguration: { portNumber } },
        patch: { operation: "MERGE", value: { requestHeadersToRemove: [String(portNumber)] } },
      })),
    ]),
  ];
  const offline = createOffline({ objects });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  await envoyTypes.load();
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy), { envoyTypes });
  const route = renderer.all(types.route).get("http.8080");
  expect(route && print(types.route, bytesOf(route)).requestHeadersToRemove).toEqual(["80"]);
});
