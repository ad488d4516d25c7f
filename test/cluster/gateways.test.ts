/** What the control plane makes for Gateway API Gateways, and keeps as it should be. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { type Cluster, kindFor } from "./cluster.ts";
import { openMesh } from "./mesh.ts";
import { type Plane, startPlane } from "./plane.ts";

let cluster: Cluster;
let plane: Plane;
let namespace = "";
const soon = { timeout: 300_000 };
beforeAll(async () => {
  ({ cluster, plane, namespace } = await openMesh());
}, 300_000);
afterAll(() => cluster.close());

const gateway = (name: string, spec: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: { name, namespace, ...metadata },
  spec: {
    gatewayClassName: "istio",
    listeners: [
      { name: "http", port: 80, protocol: "HTTP" },
      { name: "other.http", port: 8080, protocol: "HTTP", hostname: "a.example.com" },
      { name: "third", port: 8080, protocol: "HTTP", hostname: "b.example.com" },
    ],
    ...spec,
  },
});
const of = (kind: string, name: string): KubeObject => ({
  apiVersion:
    { Deployment: "apps/v1", PodDisruptionBudget: "policy/v1", HorizontalPodAutoscaler: "autoscaling/v2" }[kind] ??
    "v1",
  kind,
  metadata: { name, namespace },
});
const there = (kind: string, name: string): Promise<KubeObject | undefined> => cluster.find(of(kind, name));
const spec = (object: KubeObject | undefined): Readonly<Record<string, unknown>> => readRecord(object?.spec);
const container = (object: KubeObject | undefined): Readonly<Record<string, unknown>> =>
  readRecord(readList(readRecord(readRecord(spec(object).template).spec).containers)[0]);

test("a Gateway gets its account, Deployment and Service, which go with it", async () => {
  const made = await cluster.create(gateway("edge"));
  await expect.poll(() => there("Service", "edge-istio"), soon).toBeDefined();
  const service = await there("Service", "edge-istio");
  expect(
    readList(spec(service).ports)
      .map(readRecord)
      .map(({ name, port }) => `${readText(name)} ${String(port)}`),
  ).toEqual(["status-port 15021", "http 80", "other-http 8080"]);
  expect(service?.metadata.labels).toMatchObject({
    "gateway.networking.k8s.io/gateway-name": "edge",
    "gateway.networking.k8s.io/gateway-class-name": "istio",
    "gateway.istio.io/managed": "istio.io-gateway-controller",
  });
  expect(service?.metadata.ownerReferences).toMatchObject([{ kind: "Gateway", name: "edge", uid: made.metadata.uid }]);
  const deployment = await there("Deployment", "edge-istio");
  expect(container(deployment)).toMatchObject({
    name: "istio-proxy",
    args: expect.arrayContaining(["proxy", "router"]),
  });
  expect(readRecord(readRecord(spec(deployment).template).spec).serviceAccountName).toBe("edge-istio");
  expect(await there("ServiceAccount", "edge-istio")).toBeDefined();
  expect(await there("HorizontalPodAutoscaler", "edge-istio")).toBeUndefined();
  await cluster.admin.delete(kindFor(made), made.metadata);
  for (const kind of ["Service", "Deployment", "ServiceAccount"])
    await expect.poll(() => there(kind, "edge-istio"), soon).toBeUndefined();
});

test("what somebody changes or deletes is put right; a further port reaches the Service", async () => {
  const made = await cluster.create(gateway("kept"));
  await expect.poll(() => there("Service", "kept-istio"), soon).toBeDefined();
  await cluster.admin.delete(kubeKinds.services, { name: "kept-istio", namespace });
  await expect.poll(() => there("Service", "kept-istio"), soon).toBeDefined();
  await cluster.admin.patch(kubeKinds.deployments, { name: "kept-istio", namespace }, "strategic", {
    spec: { template: { spec: { containers: [{ name: "istio-proxy", args: ["wrong"] }] } } },
  });
  await expect
    .poll(async () => readList(container(await there("Deployment", "kept-istio")).args)[0], soon)
    .toBe("proxy");
  await cluster.admin.patch(kindFor(made), made.metadata, "json", [
    {
      op: "add",
      path: "/spec/listeners/-",
      value: { name: "tls", port: 8443, protocol: "TLS", tls: { mode: "Passthrough" } },
    },
  ]);
  await expect
    .poll(
      async () => readList(spec(await there("Service", "kept-istio")).ports).map((one) => readRecord(one).port),
      soon,
    )
    .toContain(8443);
});

test("infrastructure, names, service type and parameters are honoured", async () => {
  await cluster.create({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "parameters", namespace },
    data: {
      deployment:
        "spec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: istio-proxy\n        resources:\n          requests: {cpu: 222m}\n",
      podDisruptionBudget: "spec: {minAvailable: 1}",
    },
  });
  const infrastructure = {
    labels: { team: "a" },
    annotations: { note: "x: y\n---\n{{ .Values }}" },
    parametersRef: { group: "", kind: "ConfigMap", name: "parameters" },
  };
  await cluster.create(
    gateway(
      "tuned",
      { infrastructure },
      {
        annotations: { "gateway.istio.io/name-override": "my-edge", "networking.istio.io/service-type": "ClusterIP" },
      },
    ),
  );
  await expect.poll(() => there("PodDisruptionBudget", "my-edge"), soon).toBeDefined();
  const deployment = await there("Deployment", "my-edge");
  expect(spec(deployment).replicas).toBe(3);
  expect(container(deployment).resources).toMatchObject({ requests: { cpu: "222m" } });
  expect(container(deployment).args).toContain("router");
  expect(deployment?.metadata.labels?.team).toBe("a");
  expect(deployment?.metadata.annotations?.note).toBe("x: y\n---\n{{ .Values }}");
  expect(spec(await there("Service", "my-edge")).type).toBe("ClusterIP");
  expect(await there("ServiceAccount", "tuned-istio")).toBeDefined();
});

test("what others made under the name stays, and a Gateway that runs elsewhere gets nothing", async () => {
  const mine = await cluster.create({ ...of("Service", "taken-istio"), spec: { ports: [{ port: 1234 }] } });
  await cluster.create(gateway("taken"));
  await cluster.create(
    gateway("elsewhere", { addresses: [{ type: "Hostname", value: `edge.${namespace}.svc.cluster.local` }] }),
  );
  await expect.poll(() => there("Deployment", "taken-istio"), soon).toBeDefined();
  expect(spec(await there("Service", "taken-istio")).ports).toEqual(spec(mine).ports);
  expect(await there("Deployment", "elsewhere-istio")).toBeUndefined();
});

test("parameters that may not be are refused as a whole, and what runs stays as it was", async () => {
  const made = await cluster.create(gateway("steady"));
  await expect.poll(() => there("Deployment", "steady-istio"), soon).toBeDefined();
  await cluster.create({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "stolen", namespace },
    data: { deployment: "metadata: {name: other, namespace: kube-system}\nspec: {replicas: 9}" },
  });
  await cluster.admin.patch(kindFor(made), made.metadata, "merge", {
    spec: { infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "stolen" } } },
  });
  await expect.poll(() => plane.log.some((line) => line.includes("may not change metadata.name")), soon).toBe(true);
  expect(spec(await there("Deployment", "steady-istio")).replicas).toBe(1);
  expect(
    await cluster.find({ ...of("Deployment", "other"), metadata: { name: "other", namespace: "kube-system" } }),
  ).toBeUndefined();
});

test("nothing that was done for Gateways was refused", () => {
  expect(plane.log.filter((line) => /forbidden/i.test(line))).toEqual([]);
});

test("a Gateway is made and told of by the revision that is meant alone", async () => {
  const mesh = { "fairlead.dev/test-mesh": cluster.id };
  const named = await startPlane(cluster, { meshConfig: { discoverySelectors: [{ matchLabels: mesh }] } });
  // It names no revision, so what is in it is the default revision's.
  const elsewhere = await cluster.namespace(mesh);
  const at = (name: string, metadata: object = {}): KubeObject =>
    gateway(name, {}, { namespace: elsewhere, ...metadata });
  const statusOf = async (name: string): Promise<unknown> =>
    readRecord((await cluster.find(at(name)))?.status).listeners;
  await cluster.create(at("theirs"));
  await cluster.create(at("ours", { labels: named.labels }));
  await expect.poll(() => statusOf("ours"), soon).toBeDefined();
  const service = (name: string): Promise<KubeObject | undefined> =>
    cluster.find({ ...of("Service", `${name}-istio`), metadata: { name: `${name}-istio`, namespace: elsewhere } });
  await expect.poll(() => service("ours"), soon).toBeDefined();
  expect(await service("theirs")).toBeUndefined();
  expect(await statusOf("theirs")).toBeUndefined();
});
