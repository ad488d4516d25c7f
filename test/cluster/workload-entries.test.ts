/** Workloads outside Kubernetes on a cluster: they register themselves, are looked after by the control plane they are at, and go. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Discovery } from "../../src/control-plane/index.ts";
import { DeltaDiscoveryRequestSchema } from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { requestToken } from "../../src/kube/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";
import { healthType, type KubeObject, types } from "../../src/model/index.ts";
import { createRpcClient } from "../../src/rpc/index.ts";
import { deltaMethod } from "../../src/xds/index.ts";
import type { Cluster } from "./cluster.ts";
import { openMesh } from "./mesh.ts";
import type { Plane } from "./plane.ts";

let cluster: Cluster;
let plane: Plane;
let namespace = "";
let [first, second]: Discovery[] = [];
const soon = { timeout: 120_000 };
const registration = { graceMs: 300, enabled: { registration: true, health: true }, validateIdentity: true };

beforeAll(async () => {
  ({ cluster, plane, namespace } = await openMesh());
  first = await plane.replica("one", { registration });
  second = await plane.replica("two", { registration });
  for (const name of ["vm", "other"])
    await cluster.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
  await cluster.create(group);
}, 300_000);
afterAll(() => cluster.close());

const istio = (kind: string, name: string, spec: object = {}): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace },
  spec,
});
/** With the namespace that the test has by then. */
const group = {
  apiVersion: "networking.istio.io/v1",
  kind: "WorkloadGroup",
  metadata: {
    name: "db",
    get namespace() {
      return namespace;
    },
  },
  spec: {
    metadata: { labels: { app: "db", tier: "group" }, annotations: { team: "data" } },
    template: { serviceAccount: "vm", labels: { tier: "template", os: "linux" }, ports: { mysql: 3306 } },
  },
};
const entry = (name: string): Promise<KubeObject | undefined> => cluster.find(istio("WorkloadEntry", name));
const annotation = async (name: string, of: string): Promise<string | undefined> =>
  (await entry(name))?.metadata.annotations?.[of];

/** What is said of its health; others may have written conditions of their own. */
const healthOf = async (name: string): Promise<readonly unknown[]> =>
  readList(readRecord((await entry(name))?.status).conditions)
    .map(readRecord)
    .filter(({ type }) => type === "Healthy")
    .map(({ status, message }) => [status, message]);

interface Vm {
  readonly address: string;
  readonly account?: string;
  readonly metadata?: Readonly<Record<string, string | object>>;
}

/** A proxy of a virtual machine: its first request, then what it says of its health. */
async function connect(to: Discovery | undefined, { address, account = "vm", metadata = {} }: Vm) {
  const { token } = await requestToken(cluster.admin, {
    ...{ namespace, serviceAccount: account, audiences: ["istio-ca"] },
  });
  const client = createRpcClient({
    target: to?.addresses.secureGrpc ?? { host: "", port: 0 },
    tls: () => ({ insecure: true }),
    metadata: async () => ({ authorization: `Bearer ${token}` }),
  });
  const stream = await client.stream(deltaMethod);
  const send = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): Promise<void> =>
    stream.send(create(DeltaDiscoveryRequestSchema, init));
  const all = { NAMESPACE: namespace, INSTANCE_IPS: address, AUTO_REGISTER_GROUP: "db", ...metadata };
  const id = `sidecar~${address}~vm.${namespace}~${namespace}.svc.cluster.local`;
  await send({ node: { id, metadata: all, locality: { region: "r", zone: "z" } }, typeUrl: types.cluster });
  const answer = stream.messages.next().then(({ value }) => readText(value));
  return {
    answer,
    report: (error?: string) =>
      send({ typeUrl: healthType, ...(error === undefined ? {} : { errorDetail: { code: 13, message: error } }) }),
    /** Answered after all that was sent before; what else is pushed meanwhile is passed over. */
    ask: async (typeUrl: string) => {
      await send({ typeUrl });
      for (;;) {
        const { value, done } = await stream.messages.next();
        if (done || value.typeUrl === typeUrl) return readText(value);
      }
    },
    /** Resolves when the server has ended it too. */
    end: async () => {
      stream.end();
      for await (const _ of stream.messages);
      client.close();
    },
    close: () => client.close(),
  };
}
const readText = (answer: { readonly typeUrl: string } | undefined): string => answer?.typeUrl ?? "";

test("one that connects has an entry by istiod's names, made of its group and itself, and none after its grace", async () => {
  const vm = await connect(first, {
    address: "10.9.0.1",
    metadata: { LABELS: { version: "v7" }, NETWORK: "vm-net" },
  });
  expect(await vm.answer).toBe(types.cluster);
  const made = await entry("db-10.9.0.1-vm-net");
  const found = await cluster.find(group);
  expect(made).toMatchObject({
    metadata: {
      labels: { app: "db", tier: "group", os: "linux", version: "v7" },
      annotations: {
        "istio.io/autoRegistrationGroup": "db",
        "istio.io/workloadController": "one",
        team: "data",
      },
      ownerReferences: [{ kind: "WorkloadGroup", name: "db", uid: found?.metadata.uid, controller: true }],
    },
    spec: {
      address: "10.9.0.1",
      serviceAccount: "vm",
      ports: { mysql: 3306 },
      locality: "r/z",
      network: "vm-net",
      labels: { app: "db", tier: "group", os: "linux", version: "v7" },
    },
  });
  expect(Date.parse(made?.metadata.annotations?.["istio.io/connectedAt"] ?? "")).toBeGreaterThan(0);
  vm.close();
  await expect.poll(() => entry("db-10.9.0.1-vm-net"), soon).toBeUndefined();
}, 300_000);

test("one that moves to another control plane is that one's, and the first leaves it alone", async () => {
  const before = await connect(first, { address: "fd00::9" });
  await before.answer;
  const after = await connect(second, { address: "fd00::9" });
  await after.answer;
  const name = "db-fd00--9";
  expect(await annotation(name, "istio.io/workloadController")).toBe("two");
  before.close();
  // Another one that leaves the same control plane later is gone: the first one's turn has passed.
  const witness = await connect(first, { address: "10.9.0.2" });
  await witness.answer;
  witness.close();
  await expect.poll(() => entry("db-10.9.0.2"), soon).toBeUndefined();
  expect(await annotation(name, "istio.io/workloadController")).toBe("two");
  expect(await annotation(name, "istio.io/disconnectedAt")).toBeUndefined();
  after.close();
  await expect.poll(() => entry(name), soon).toBeUndefined();
}, 300_000);

test("of two connections of one, the newer may end first: its entry says that it has left", async () => {
  // So long a grace that nobody looks around meanwhile: what is written is written for the connection that ended last.
  const patient = await plane.replica("patient", { registration: { ...registration, graceMs: 3_600_000 } });
  const before = await connect(patient, { address: "10.9.0.8" });
  await before.answer;
  const after = await connect(patient, { address: "10.9.0.8" });
  await after.answer;
  await after.end();
  await before.end();
  await expect.poll(() => annotation("db-10.9.0.8", "istio.io/disconnectedAt"), soon).toBeDefined();
  expect(await annotation("db-10.9.0.8", "istio.io/connectedAt")).toBeUndefined();
}, 300_000);

test("health that its agent reports is a condition of its entry, and goes with it", async () => {
  const probed = { PROXY_CONFIG: { readinessProbe: { tcpSocket: { port: 1 } } } };
  const vm = await connect(first, { address: "10.9.0.3", metadata: probed });
  await vm.answer;
  const health = () => healthOf("db-10.9.0.3");
  expect(await annotation("db-10.9.0.3", "proxy.istio.io/health-checks-enabled")).toBe("true");
  await vm.report();
  await expect.poll(health, soon).toEqual([["True", undefined]]);
  await vm.report("nothing answers");
  await expect.poll(health, soon).toEqual([["False", "nothing answers"]]);
  vm.close();
  await expect.poll(() => entry("db-10.9.0.3"), soon).toBeUndefined();
}, 300_000);

test("another account, and a group that is not there, are refused and leave nothing behind", async () => {
  const other = await connect(first, { address: "10.9.0.4", account: "other" });
  await expect(other.answer).rejects.toThrow('service account mismatch: "other" vs "vm"');
  const lost = await connect(first, { address: "10.9.0.4", metadata: { AUTO_REGISTER_GROUP: "lost" } });
  await expect(lost.answer).rejects.toThrow(`cannot find WorkloadGroup ${namespace}/lost`);
  for (const vm of [other, lost]) vm.close();
  expect(await entry("db-10.9.0.4")).toBeUndefined();
}, 300_000);

test("another account says nothing of the health of somebody's entry, and does not keep it", async () => {
  const vm = await connect(first, { address: "10.9.0.6" });
  await vm.answer;
  const other = await connect(first, {
    ...{ address: "10.9.0.7", account: "other" },
    metadata: { AUTO_REGISTER_GROUP: "", WORKLOAD_ENTRY: "db-10.9.0.6" },
  });
  await other.answer;
  await other.report("it is ill");
  expect(await other.ask(types.listener)).toBe(types.listener);
  // What concerns one entry is done in turn: when this one is answered, the report has had its own.
  const again = await connect(first, { address: "10.9.0.6" });
  await again.answer;
  expect(await healthOf("db-10.9.0.6")).toEqual([]);
  for (const one of [vm, again]) one.close();
  await expect.poll(() => entry("db-10.9.0.6"), soon).toBeUndefined();
  other.close();
}, 300_000);

test("an entry that somebody wrote is kept, and what was reported of it goes with its workload", async () => {
  const written = istio("WorkloadEntry", "by-hand", { address: "10.9.0.5", serviceAccount: "vm" });
  const annotations = { "proxy.istio.io/health-checks-enabled": "true" };
  await cluster.create({ ...written, metadata: { ...written.metadata, annotations } });
  const vm = await connect(first, {
    address: "10.9.0.5",
    metadata: { AUTO_REGISTER_GROUP: "", WORKLOAD_ENTRY: "by-hand" },
  });
  await vm.answer;
  await vm.report();
  await expect.poll(() => healthOf("by-hand"), soon).toHaveLength(1);
  vm.close();
  await expect.poll(() => healthOf("by-hand"), soon).toEqual([]);
  expect(await entry("by-hand")).toBeDefined();
}, 300_000);
