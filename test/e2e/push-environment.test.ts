import { readFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runProgram } from "../../src/cli/program.ts";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord } from "../../src/lib/index.ts";
import { types } from "../../src/model/index.ts";
import { createRpcClient } from "../../src/rpc/index.ts";
import { deltaMethod } from "../../src/xds/index.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

/** The control plane as a user starts it, with this environment; its plaintext port. */
async function startDiscovery(api: TestApi, env: Readonly<Record<string, string>>): Promise<number> {
  const stop = new AbortController();
  const any = "127.0.0.1:0";
  const flags = ["--grpcAddr", "--secureGRPCAddr", "--monitoringAddr", "--httpsAddr", "--httpAddr"];
  const found = untilNamed(api.dir, "bound");
  const run = runProgram(
    [
      ...["discovery", "--kubeconfig", api.kubeconfig, "--bound-addresses", join(api.dir, "bound")],
      ...flags.flatMap((flag) => [flag, any]),
    ],
    { env, cwd: api.dir, out: () => {}, err: () => {}, tty: false, signal: stop.signal },
  );
  open.push(() => {
    stop.abort();
    return run;
  });
  await found;
  const bound = JSON.parse(readFileSync(join(api.dir, "bound"), "utf8")) as { grpc: string };
  return Number(bound.grpc.split(":").at(-1));
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

async function follow(port: number, name: string): Promise<() => Promise<DeltaDiscoveryResponse>> {
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  open.push(() => client.close());
  const stream = await client.stream(deltaMethod);
  const cluster = "outbound|80||a.default.svc.cluster.local";
  await stream.send(
    create(DeltaDiscoveryRequestSchema, {
      node: { id: `sidecar~10.0.0.9~${name}.default~default.svc.cluster.local` },
      typeUrl: types.endpoint,
      resourceNamesSubscribe: [cluster],
    }),
  );
  return async () => {
    const { done, value } = await stream.messages.next();
    if (done) throw new Error("the stream has ended");
    await stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl: types.endpoint, responseNonce: value.nonce }));
    return value;
  };
}

const holds = (response: DeltaDiscoveryResponse, address: string): boolean =>
  response.resources.some(({ resource }) => Buffer.from(resource?.value ?? []).includes(address));

test("PILOT_ENABLE_EDS_DEBOUNCE=false: endpoints do not wait for a quiet time, with PILOT_PUSH_THROTTLE=1 neither", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const port = await startDiscovery(api, {
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

test("PILOT_DEBOUNCE_MAX ends the wait for a quiet time that steady changes would never let come", async () => {
  const api = await startApi();
  open.push(() => api.close());
  const admin = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => admin.close());
  await service(admin, "a");
  const port = await startDiscovery(api, { PILOT_DEBOUNCE_AFTER: "1h", PILOT_DEBOUNCE_MAX: "300ms" });
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
