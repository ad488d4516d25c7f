import { readFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { type ClientHttp2Session, connect } from "node:http2";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterEach, expect, test, vi } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runProgram } from "../../src/cli/program.ts";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../src/gen/envoy/config/route/v3/route_pb.js";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord, readText } from "../../src/lib/index.ts";
import { type ResourceType, types } from "../../src/model/index.ts";
import { messageChunks } from "../../src/rpc/frame.ts";
import { createRpcClient } from "../../src/rpc/index.ts";
import { deltaMethod } from "../../src/xds/index.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

interface Ports {
  /** xDS in plain text. */
  readonly grpc: number;
  readonly monitoring: number;
}

/** The control plane as a user starts it, with this environment. */
async function startDiscovery(api: TestApi, env: Readonly<Record<string, string>>): Promise<Ports> {
  const stop = new AbortController();
  const any = "127.0.0.1:0";
  const flags = ["--grpcAddr", "--secureGRPCAddr", "--monitoringAddr", "--httpsAddr", "--httpAddr"];
  const file = `bound-${open.length}`;
  const found = untilNamed(api.dir, file);
  const run = runProgram(
    [
      ...["discovery", "--kubeconfig", api.kubeconfig, "--bound-addresses", join(api.dir, file)],
      ...flags.flatMap((flag) => [flag, any]),
    ],
    { env, cwd: api.dir, out: () => {}, err: () => {}, tty: false, signal: stop.signal },
  );
  open.push(() => {
    stop.abort();
    return run;
  });
  await found;
  const bound = readRecord(JSON.parse(readFileSync(join(api.dir, file), "utf8")));
  const port = (name: string): number => Number(readText(bound[name]).split(":").at(-1));
  return { grpc: port("grpc"), monitoring: port("monitoring") };
}

async function untilNamed(dir: string, name: string): Promise<void> {
  for await (const { filename } of watch(dir)) if (filename === name) return;
}

async function service(admin: KubeClient, name: string): Promise<void> {
  const metadata = { name, namespace: "default" };
  await admin.raw("POST", "/api/v1/namespaces/default/services", {
    ...{ apiVersion: "v1", kind: "Service", metadata },
    spec: { ports: [{ name: "http", port: 80 }] },
  });
  await admin.raw("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice(name, "10.0.0.1"));
}

const slice = (name: string, address: string) => ({
  ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4" },
  metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": name } },
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
});

/** Endpoints of a service, where nothing else is asked for. */
async function follow(
  port: number,
  name: string,
  typeUrl: ResourceType = types.endpoint,
  resource = "outbound|80||a.default.svc.cluster.local",
): Promise<() => Promise<DeltaDiscoveryResponse>> {
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  open.push(() => client.close());
  const stream = await client.stream(deltaMethod);
  await stream.send(
    create(DeltaDiscoveryRequestSchema, {
      node: { id: `sidecar~10.0.0.9~${name}.default~default.svc.cluster.local` },
      typeUrl,
      resourceNamesSubscribe: [resource],
    }),
  );
  return async () => {
    const { done, value } = await stream.messages.next();
    if (done) throw new Error("the stream has ended");
    await stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce: value.nonce }));
    return value;
  };
}

const holds = (response: DeltaDiscoveryResponse, text: string): boolean =>
  response.resources.some(({ resource }) => Buffer.from(resource?.value ?? []).includes(text));

test("PILOT_ENABLE_EDS_DEBOUNCE=false: endpoints do not wait for a quiet time, with PILOT_PUSH_THROTTLE=1 neither", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const { grpc: port } = await startDiscovery(api, {
    PILOT_DEBOUNCE_AFTER: "1h",
    PILOT_DEBOUNCE_MAX: "1h",
    PILOT_ENABLE_EDS_DEBOUNCE: "false",
    PILOT_PUSH_THROTTLE: "1",
  });
  const proxies = await Promise.all(["x", "y", "z"].map((name) => follow(port, name)));
  for (const next of proxies) expect(holds(await next(), "10.0.0.1")).toBe(true);
  await admin.raw("PUT", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/a", slice("a", "10.0.0.2"));
  for (const next of proxies) expect(holds(await next(), "10.0.0.2")).toBe(true);
});

test("PILOT_DEBOUNCE_AFTER is how long a change waits for others; a forced push does not wait", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const soonMs = 500;
  const start = async (after: string) => {
    const { grpc, monitoring } = await startDiscovery(api, { PILOT_DEBOUNCE_AFTER: after, PILOT_DEBOUNCE_MAX: "1h" });
    const next = await follow(grpc, "x", types.route, "80");
    expect(holds(await next(), "added.example.com")).toBe(false);
    return { monitoring, told: next() };
  };
  const [late, soon] = [await start("1h"), await start(`${soonMs}ms`)];
  let isLateTold = false;
  void late.told.then(() => {
    isLateTold = true;
  });
  const startedMs = performance.now();
  await admin.raw("POST", "/apis/networking.istio.io/v1/namespaces/default/virtualservices", {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "v", namespace: "default" } },
    spec: { hosts: ["added.example.com"], http: [{ route: [{ destination: { host: "a" } }] }] },
  });
  expect(holds(await soon.told, "added.example.com")).toBe(true);
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(soonMs);
  expect(isLateTold).toBe(false);
  await expect.poll(() => scraped(late.monitoring, "pilot_virt_services")).toBe(1);
  expect(isLateTold).toBe(false);
  await fetch(`http://127.0.0.1:${late.monitoring}/debug/adsz?push=true`);
  expect(holds(await late.told, "added.example.com")).toBe(true);
});

test("PILOT_DEBOUNCE_MAX ends the wait for a quiet time that steady changes would never let come", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const { grpc: port } = await startDiscovery(api, { PILOT_DEBOUNCE_AFTER: "1h", PILOT_DEBOUNCE_MAX: "300ms" });
  const next = await follow(port, "x");
  expect(holds(await next(), "10.0.0.1")).toBe(true);
  let isTold = false;
  const told = next().then((response) => {
    isTold = true;
    return response;
  });
  const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/a";
  let written = 0;
  while (!isTold) await admin.raw("PUT", path, slice("a", `10.0.1.${++written % 250}`));
  expect(holds(await told, "10.0.1.")).toBe(true);
  // Not each by itself.
  expect(written).toBeGreaterThan(1);
});

test("ENABLE_LEADER_ELECTION=false: what a leader does is done, and no lock is taken", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  const stop = new AbortController();
  open.push(() => stop.abort());
  const { resourceVersion } = await admin.list(kubeKinds.configMaps, { namespace: "default" });
  const changes = admin.watch(kubeKinds.configMaps, { namespace: "default", resourceVersion, signal: stop.signal });
  await startDiscovery(api, { ENABLE_LEADER_ELECTION: "false" });
  for await (const { object } of changes)
    if (readRecord(readRecord(object).metadata).name === "istio-ca-root-cert") break;
  const names = async (kind: typeof kubeKinds.leases): Promise<readonly string[]> =>
    (await admin.list(kind, { namespace: "istio-system" })).items.map(({ metadata }) => metadata.name ?? "");
  expect(await names(kubeKinds.leases)).toEqual([]);
  expect((await names(kubeKinds.configMaps)).filter((name) => /election|leader|allocate/.test(name))).toEqual([]);
});

/** Of an Envoy that takes virtual hosts one by one. */
async function routesOf(port: number): Promise<RouteConfiguration> {
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  open.push(() => client.close());
  const stream = await client.stream(deltaMethod);
  const version = { majorNumber: 1, minorNumber: 40, patch: 0 };
  const node = {
    id: "sidecar~10.0.0.9~x.default~default.svc.cluster.local",
    userAgentName: "envoy",
    userAgentVersionType: { case: "userAgentBuildVersion" as const, value: { version } },
  };
  const request = { node, typeUrl: types.route, resourceNamesSubscribe: ["80"] };
  await stream.send(create(DeltaDiscoveryRequestSchema, request));
  const { done, value } = await stream.messages.next();
  if (done) throw new Error("the stream has ended");
  return fromBinary(RouteConfigurationSchema, value.resources[0]?.resource?.value ?? new Uint8Array(0));
}

test("PILOT_ENABLE_VHDS, in any way to say no, has virtual hosts sent with their routes", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const routes = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
    const { vhds, virtualHosts } = await routesOf((await startDiscovery(api, env)).grpc);
    return { apart: vhds !== undefined, inside: virtualHosts.some(({ name }) => name.startsWith("a.default")) };
  };
  expect(await routes({})).toEqual({ apart: true, inside: false });
  for (const no of ["false", "f"])
    expect(await routes({ PILOT_ENABLE_VHDS: no }), no).toEqual({ apart: false, inside: true });
});

const scraped = async (port: number, name: string): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, "m").exec(text)?.[1] ?? 0);
};

test("FAIRLEAD_CHECK_INCREMENTAL=1: what a proxy has is compared with a fresh start after a change", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const { grpc, monitoring } = await startDiscovery(api, { FAIRLEAD_CHECK_INCREMENTAL: "1" });
  const next = await follow(grpc, "x");
  expect(holds(await next(), "10.0.0.1")).toBe(true);
  const checks = (): Promise<number> => scraped(monitoring, "fairlead_incremental_checks");
  await expect.poll(checks).toBeGreaterThan(0);
  const before = await checks();
  await admin.raw("PUT", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/a", slice("a", "10.0.0.2"));
  expect(holds(await next(), "10.0.0.2")).toBe(true);
  await expect.poll(checks).toBeGreaterThan(before);
  expect(await scraped(monitoring, "fairlead_incremental_differences")).toBe(0);
});

/** One that asks for all clusters, and takes no more of the answer than a byte. */
function stick(port: number, name: string): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 1 } });
  const stream = session.request({
    ":method": "POST",
    ":path": deltaMethod.path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  const node = { id: `sidecar~10.0.0.9~${name}.default~default.svc.cluster.local` };
  const request = create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster });
  for (const chunk of messageChunks([toBinary(DeltaDiscoveryRequestSchema, request)])) stream.write(chunk);
  return session;
}

test.each([1, 2])(
  "PILOT_PUSH_THROTTLE=%i: of readers that take nothing so many are written to, the others wait",
  async (most) => {
    const api = await startApi();
    open.push(() => api.close());
    const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
    open.push(() => admin.close());
    const hosts = Array.from({ length: 250 }, (_, i) => `h${i}.example.com`);
    const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
    await admin.raw("POST", "/apis/networking.istio.io/v1/namespaces/default/serviceentries", {
      ...{
        apiVersion: "networking.istio.io/v1",
        kind: "ServiceEntry",
        metadata: { name: "much", namespace: "default" },
      },
      spec: { hosts, ports, resolution: "NONE" },
    });
    const { grpc, monitoring } = await startDiscovery(api, { PILOT_PUSH_THROTTLE: `${most}` });
    // Whose reader takes nothing would give its place away after some milliseconds.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    open.push(() => void vi.useRealTimers());
    for (const name of ["a", "b", "c", "d", "e"]) {
      const session = stick(grpc, name);
      open.push(() => session.destroy());
    }
    await untilIs(() => scraped(monitoring, "pilot_xds"), 5);
    await untilIs(() => scraped(monitoring, "fairlead_waiting_pushes"), 5 - most);
    for (let looks = 0; looks < 20; looks++)
      expect(await scraped(monitoring, "fairlead_waiting_pushes")).toBe(5 - most);
    vi.useRealTimers();
  },
);

/** Without a timer between two looks, as these stand still. */
async function untilIs(look: () => Promise<number>, wanted: number): Promise<void> {
  let found = await look();
  for (let looks = 0; found !== wanted && looks < 2000; looks++) found = await look();
  expect(found).toBe(wanted);
}
