import { randomUUID } from "node:crypto";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createGraph } from "../../collections/index.ts";
import { ClustersConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import {
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { ClientConfigSchema, ConfigStatus } from "../../gen/envoy/service/status/v3/csds_pb.js";
import { createInjectSettings } from "../../inject/index.ts";
import { createMemorySource } from "../../kube/index.ts";
import { jsonPieces, readRecord, silentLogger } from "../../lib/index.ts";
import { type KubeObject, types } from "../../model/index.ts";
import { answerDebug, createDebugTypes, createMetrics, type DebugSources } from "../../ops/index.ts";
import { createRpcServer } from "../../rpc/index.ts";
import { type Ads, type Authenticate, createAds, type Proven } from "../../xds/index.ts";
import { sourceOf } from "../source/testing-source.ts";
import { createStages } from "../stages.ts";
import { createTapSessions, createTapView, createTraffic, createTrafficView } from "../traffic/index.ts";
import { watchObjects } from "../watched-kinds.ts";
import { createConfigDump, createConfigDumpMessages } from "./config-dump.ts";
import { createDebugViews } from "./views.ts";

const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const domain = "cluster.local";
const cluster = "Kubernetes";
const open: (() => Promise<void> | void)[] = [];
let ads: Ads;
let sources: DebugSources;
const own = { namespace: "pulls", name: "web" };
const pulled = "s3cret";
/** A server whose proxy has a plugin with a pull secret. */
const withPullSecret: readonly KubeObject[] = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: own,
    spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1"], ports: [{ name: "http", port: 80 }] },
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: own,
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths: { r: { auth: pulled } } })).toString("base64") },
  },
  {
    apiVersion: "extensions.istio.io/v1alpha1",
    kind: "WasmPlugin",
    metadata: own,
    spec: {
      url: "oci://r.example/filter:v1",
      imagePullSecret: own.name,
      vmConfig: { env: [{ name: "A", value: "b" }] },
    },
  },
];

/** A Pod, and a Service that has one number for UDP and for TCP. */
const withBoth: readonly KubeObject[] = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "both", name: "web", labels: { app: "web" } },
    status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "both", name: "web" },
    spec: {
      clusterIP: "10.96.0.2",
      selector: { app: "web" },
      ports: [
        { name: "dns", port: 53, targetPort: 5353, protocol: "UDP" },
        { name: "dns-tcp", port: 53, targetPort: 5354, protocol: "TCP" },
        { name: "syslog", port: 514, targetPort: 514, protocol: "UDP" },
      ],
    },
  },
];

beforeEach(() => {
  const graph = createGraph();
  const { objects } = watchObjects(createMemorySource({ graph, objects: [...withPullSecret, ...withBoth] }));
  const stages = createStages({ graph, objects, domain, cluster, configMap: "istio-system/istio" });
  const resources = sourceOf(stages, { domain, cluster });
  ads = createAds({
    source: resources,
    identifier: '{"Component":"istiod"}',
    ready: () => true,
    log: silentLogger,
    now: () => new Date(),
    uuid: randomUUID,
    other: {
      handles: (typeUrl) => debugTypes.handles(typeUrl),
      answer: (request) => debugTypes.answer(request),
    },
  });
  const monotonicMs = (): number => performance.now();
  const traffic = createTraffic({
    ...{ registry: stages.registry, namespace: "istio-system", metrics: createMetrics(), log: silentLogger },
    ...{ now: () => new Date(), monotonicMs },
  });
  sources = {
    systemNamespace: "istio-system",
    ads,
    views: createDebugViews({
      stages,
      ads,
      resources,
      configDump: createConfigDump(resources, ads),
      objects,
      injectSettings: () =>
        createInjectSettings({
          values: {},
          config: { templates: { mine: "metadata: {}" } },
          meshConfig: stages.settings.current(),
          revision: "",
          compliancePolicy: "",
          annotationError: () => undefined,
        }),
      cluster,
      domain,
    })
      .set("trafficz", createTrafficView(traffic))
      .set("tapz", createTapView(createTapSessions({ ...traffic, monotonicMs, log: silentLogger }))),
  };
  const debugTypes = createDebugTypes({
    ...sources,
    configDumpMessages: createConfigDumpMessages(resources, ads),
  });
  open.push(() => resources.close());
});

afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

/** A port on which everybody is who the test says, or nobody where it says none. */
async function serve(authenticate: Authenticate): Promise<number> {
  const server = createRpcServer({ routes: ads.routes(authenticate), log: silentLogger });
  open.push(() => server.close());
  return (await server.listen({ host: "127.0.0.1", port: 0 })).port;
}

const account = (namespace: string): Proven => ({
  identity: { trustDomain: domain, namespace, serviceAccount: "default" },
});

function ask(port: number, request: MessageInitShape<typeof DiscoveryRequestSchema>) {
  const stub = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  open.push(() => stub.close());
  const call = stub.makeBidiStreamRequest<DiscoveryRequest, DiscoveryResponse>(
    path,
    (value) => Buffer.from(toBinary(DiscoveryRequestSchema, value)),
    (bytes) => fromBinary(DiscoveryResponseSchema, bytes),
  );
  const send = (init: MessageInitShape<typeof DiscoveryRequestSchema>) =>
    call.write(create(DiscoveryRequestSchema, init));
  const status = new Promise<number>((resolve) => call.once("status", ({ code }) => resolve(code)));
  const next = () =>
    new Promise<DiscoveryResponse>((resolve, reject) => {
      call.once("data", resolve);
      call.once("error", reject);
    });
  call.on("error", () => {});
  const first = next();
  first.catch(() => {});
  send(request);
  return { first, next, send, status };
}

const nodeOf = (name: string, namespace: string) => ({
  id: `sidecar~10.0.0.1~${name}.${namespace}~${namespace}.svc.${domain}`,
  metadata: { NAMESPACE: namespace, CLUSTER_ID: cluster, ISTIO_VERSION: "1.30.0", LABELS: { app: name } },
});

async function connectProxy(name: string, namespace: string): Promise<void> {
  const port = await serve(() => account(namespace));
  const stream = ask(port, { node: nodeOf(name, namespace), typeUrl: types.cluster });
  const { nonce, versionInfo } = await stream.first;
  stream.send({ typeUrl: types.cluster, responseNonce: nonce, versionInfo });
  // An answer of another type shows that the ACK before it was read.
  const other = stream.next();
  stream.send({ typeUrl: types.listener });
  await other;
}

const question = (typeUrl: string, namespace: string, ...resourceNames: string[]) => ({
  node: { ...nodeOf("istioctl", namespace), metadata: { NAMESPACE: namespace, GENERATOR: "event" } },
  typeUrl,
  resourceNames,
});

test("syncz: every proxy of the mesh, with the state of each type, for the system's own", async () => {
  await connectProxy("web", "shop");
  await connectProxy("db", "store");
  const port = await serve(() => account("istio-system"));
  const answer = await ask(port, question("istio.io/debug/syncz", "istio-system")).first;
  expect(answer).toMatchObject({
    typeUrl: "istio.io/debug/syncz",
    controlPlane: { identifier: '{"Component":"istiod"}' },
  });
  const clients = answer.resources.map(({ typeUrl, value }) => {
    expect(typeUrl).toBe("type.googleapis.com/envoy.service.status.v3.ClientConfig");
    return fromBinary(ClientConfigSchema, value);
  });
  expect(clients.map(({ node }) => node?.id)).toEqual(["web.shop", "db.store"]);
  expect(clients[0]?.node?.metadata).toEqual({ CLUSTER_ID: cluster, NAMESPACE: "shop", ISTIO_VERSION: "1.30.0" });
  expect(clients[0]?.genericXdsConfigs).toMatchObject([
    { typeUrl: types.cluster, configStatus: ConfigStatus.SYNCED, lastUpdated: expect.anything() },
    { typeUrl: types.listener, configStatus: ConfigStatus.STALE },
  ]);
});

test("others see the proxies of their own namespace alone", async () => {
  await connectProxy("web", "shop");
  await connectProxy("db", "store");
  const port = await serve(() => account("shop"));
  const { resources } = await ask(port, question("istio.io/debug/syncz", "shop")).first;
  expect(resources.map(({ value }) => fromBinary(ClientConfigSchema, value).node?.id)).toEqual(["web.shop"]);
  const foreign = await ask(port, question("istio.io/debug/config_dump", "shop", "db.store")).first;
  expect(foreign.resources).toEqual([]);
  expect(await ask(port, question("istio.io/debug", "shop", "registryz")).status).toBe(grpc.status.PERMISSION_DENIED);
});

test("config_dump: messages of Envoy's own dump", async () => {
  await connectProxy("web", "shop");
  const port = await serve(() => account("shop"));
  const { resources } = await ask(port, question("istio.io/debug/config_dump", "shop", "web.shop")).first;
  const clusters = resources.find(({ typeUrl }) => typeUrl.endsWith("envoy.admin.v3.ClustersConfigDump"));
  const dump = fromBinary(ClustersConfigDumpSchema, clusters?.value ?? new Uint8Array());
  expect(dump.dynamicActiveClusters[0]?.cluster?.typeUrl).toBe(types.cluster);
  expect(resources.map(({ typeUrl }) => typeUrl.split(".").at(-1))).toContain("ListenersConfigDump");
});

test("any path of the debug API by its name", async () => {
  await connectProxy("web", "shop");
  const port = await serve(() => account("istio-system"));
  const { resources } = await ask(port, question("istio.io/debug", "istio-system", "syncz?namespace=shop")).first;
  expect(resources.map(({ typeUrl }) => typeUrl)).toEqual(["istio.io/debug"]);
  expect(JSON.parse(new TextDecoder().decode(resources[0]?.value))).toMatchObject([{ proxy: "web.shop" }]);
  expect(await ask(port, question("istio.io/debug", "istio-system")).status).toBe(grpc.status.INVALID_ARGUMENT);
});

test.each(["istio.io/debug/syncz", "istio.io/debug/config_dump", "istio.io/debug"])(
  "%s is refused on a port that asks for no identity, even from loopback",
  async (typeUrl) => {
    const port = await serve(() => undefined);
    expect(await ask(port, question(typeUrl, "istio-system", "syncz")).status).toBe(grpc.status.UNAUTHENTICATED);
  },
);

function readNumber(of: unknown, ...path: readonly string[]): number {
  return Number(path.reduce<unknown>((at, name) => readRecord(at)[name], of));
}

/** As whoever asks reads it. */
const parsed = (body: unknown): unknown => JSON.parse([...jsonPieces(body)].join(""));

test("krtz: how many classes there are, and where asked for what recipes keep for them, each piece of bytes once", async () => {
  await connectProxy("web", "shop");
  const read = async (query: Record<string, string>): Promise<unknown> => {
    const request = {
      path: "krtz",
      query: new URLSearchParams(query),
      remoteAddress: "127.0.0.1",
      identity: undefined,
    };
    return parsed((await answerDebug(sources, request)).body);
  };
  expect(await read({})).toEqual({ classes: 1, proxies: 1 });
  const one = await read({ parts: "true" });
  expect(one).toMatchObject({
    classes: 1,
    recipes: { Cluster: { entries: expect.any(Number), lookups: expect.any(Number) } },
    encodedBytes: { [types.cluster]: expect.any(Number), [types.listener]: expect.any(Number) },
  });
  await connectProxy("db", "store");
  const both = await read({ parts: "true" });
  // What another class shares weighs nothing; of its own it has what names it in its listeners.
  const clusters = (of: unknown): number => readNumber(of, "encodedBytes", types.cluster);
  const listeners = (of: unknown): number => readNumber(of, "encodedBytes", types.listener);
  expect(both).toMatchObject({ classes: 2, proxies: 2 });
  expect(clusters(both)).toBe(clusters(one));
  expect(listeners(both)).toBeLessThan(2 * listeners(one));
});

test("the templates of the injection webhook are shown by name, those of users with their text", async () => {
  const request = { path: "inject", query: new URLSearchParams(), remoteAddress: "127.0.0.1", identity: undefined };
  expect((await answerDebug(sources, request)).body).toMatchObject({ sidecar: "", gateway: "", mine: "metadata: {}" });
});

test("paths about one proxy say so where none, or an unknown one, is named", async () => {
  const status = async (path: string, proxyID?: string) =>
    (
      await answerDebug(sources, {
        path,
        query: new URLSearchParams(proxyID === undefined ? {} : { proxyID }),
        remoteAddress: "127.0.0.1",
        identity: undefined,
      })
    ).status;
  for (const path of ["config_dump", "edsz", "ndsz", "ecdsz", "sidecarz"]) {
    expect(await status(path), path).toBe(400);
    expect(await status(path, "gone.shop"), path).toBe(404);
  }
  for (const path of ["adsz", "telemetryz"]) {
    expect(await status(path), path).toBe(200);
    expect(await status(path, "gone.shop"), path).toBe(404);
  }
});

test("a pull secret goes to the proxy, and into no dump", async () => {
  const port = await serve(() => account(own.namespace));
  const name = `extensions.istio.io/trafficextension/${own.namespace}.${own.name}~istio-translated-wasmplugin`;
  const node = nodeOf("web", own.namespace);
  const { resources } = await ask(port, { node, typeUrl: types.extension, resourceNames: [name] }).first;
  expect(Buffer.from(resources[0]?.value ?? []).toString()).toContain(pulled);
  for (const [path, more] of [
    ["config_dump", {}],
    ["config_dump", { types: "ecds" }],
    ["ecdsz", {}],
  ] as const) {
    const query = new URLSearchParams({ proxyID: `web.${own.namespace}`, ...more });
    const { body } = await answerDebug(sources, { path, query, remoteAddress: "127.0.0.1", identity: undefined });
    const text = JSON.stringify(parsed(body));
    // Not whole: a failure would print all of it.
    expect(
      [/"A":"b"/, /oci:..r.example.filter:v1/, /PULL_SECRET":"\[redacted\]/].map((part) => part.test(text)),
    ).toEqual([true, true, true]);
    expect(text.includes(pulled), path).toBe(false);
  }
});

test("a dump of an application that is its own xDS client has what it asked for by name", async () => {
  const port = await serve(() => account(own.namespace));
  const host = `${own.name}.${own.namespace}.svc.cluster.local`;
  const plain = nodeOf("app", own.namespace);
  const node = { ...plain, metadata: { ...plain.metadata, GENERATOR: "grpc" } };
  const { resources } = await ask(port, { node, typeUrl: types.listener, resourceNames: [`${host}:80`] }).first;
  expect(resources).toHaveLength(1);
  const query = new URLSearchParams({ proxyID: `app.${own.namespace}` });
  const { body } = await answerDebug(sources, {
    ...{ path: "config_dump", query, remoteAddress: "127.0.0.1", identity: undefined },
  });
  const sections = (parsed(body) as { configs: Readonly<Record<string, unknown>>[] }).configs;
  const listeners = sections.find((one) => String(one["@type"]).endsWith("ListenersConfigDump"))?.dynamicListeners;
  expect(listeners).toMatchObject([{ name: `${host}:80` }]);
  expect(sections.find((one) => String(one["@type"]).endsWith("ClustersConfigDump"))).not.toHaveProperty(
    "dynamicActiveClusters",
  );
});

test("a dump of single types is bare, and endpoints come only where they are asked for", async () => {
  await connectProxy("web", "shop");
  const dump = async (path: string, more: Readonly<Record<string, string>> = {}) => {
    const query = new URLSearchParams({ proxyID: "web.shop", ...more });
    const { body } = await answerDebug(sources, { path, query, remoteAddress: "127.0.0.1", identity: undefined });
    return (parsed(body) as { configs: { "@type": string }[] }).configs.map((one) => one["@type"].split(".").at(-1));
  };
  expect(await dump("config_dump")).not.toContain("EndpointsConfigDump");
  expect(await dump("config_dump", { include_eds: "" })).toContain("EndpointsConfigDump");
  expect(new Set(await dump("config_dump", { types: "cds" }))).toEqual(new Set(["Cluster"]));
});

test("istioctl's own way of asking: a nonce in the question, and always the same node id", async () => {
  await connectProxy("web", "shop");
  const asked = {
    ...question("istio.io/debug/syncz", "istio-system"),
    node: {
      id: "sidecar~0.0.0.0~test-1.default~default.svc.cluster.local",
      metadata: { NAMESPACE: "istio-system", GENERATOR: "event" },
    },
    responseNonce: "2026-01-01 10:00:00.0 +0000 UTC",
  };
  const { resources } = await ask(await serve(() => account("istio-system")), asked).first;
  expect(resources).toHaveLength(1);
  const plaintext = await serve(() => undefined);
  expect(await ask(plaintext, asked).status).toBe(grpc.status.UNAUTHENTICATED);
});

async function readPath(path: string): Promise<unknown> {
  const request = { path, query: new URLSearchParams(), remoteAddress: "127.0.0.1", identity: undefined };
  return parsed((await answerDebug(sources, request)).body);
}

test("instancesz: each port of a proxy's service by its name, of one number too", async () => {
  await connectProxy("web", "both");
  expect(await readPath("instancesz")).toMatchObject({
    "web.both": [
      { Port: { name: "dns", port: 53, protocol: "UDP", TargetPort: 5353 } },
      { Port: { name: "dns-tcp", port: 53, protocol: "TCP", TargetPort: 5354 } },
      { Port: { name: "syslog", port: 514, protocol: "UDP", TargetPort: 514 } },
    ],
  });
});

test("push_status: no cluster is missed where a port is for UDP", async () => {
  const { pilot_eds_no_instances: empty } = readRecord(await readPath("push_status"));
  const own = Object.keys(readRecord(empty)).filter((name) => name.endsWith("web.both.svc.cluster.local"));
  expect(own).toEqual(["outbound|53||web.both.svc.cluster.local"]);
});
