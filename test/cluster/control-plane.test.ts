/** The control plane's own work on a cluster, with the chart's roles: statuses, addresses, roots, leadership, rights, definitions. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crdFor } from "../../src/config/index.ts";
import { completeValues, installObjects } from "../../src/install/index.ts";
import { kubeKinds, reviewAccess } from "../../src/kube/index.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import { type KubeObject, kinds } from "../../src/model/index.ts";
import { type Cluster, collectionOf, kindFor, pathOf } from "./cluster.ts";
import { openMesh } from "./mesh.ts";
import type { Plane } from "./plane.ts";

let cluster: Cluster;
let plane: Plane;
let namespace = "";
const soon = { timeout: 300_000 };
beforeAll(async () => {
  ({ cluster, plane, namespace } = await openMesh());
}, 300_000);
afterAll(() => cluster.close());

const istio = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace },
  spec,
});
const conditions = (of: unknown): readonly string[] =>
  readList(readRecord(of).conditions)
    .map(readRecord)
    .map(({ type, status }) => `${readText(type)}=${readText(status)}`);
const statusOf = async (object: KubeObject): Promise<Readonly<Record<string, unknown>>> =>
  readRecord((await cluster.find(object))?.status);

describe("statuses", () => {
  test("of a healthy and of a broken object, each with its generation", async () => {
    const good = await cluster.create(istio("DestinationRule", "good", { host: "a" }));
    const lost = await cluster.create(
      istio("VirtualService", "lost", {
        hosts: ["x.example.com"],
        gateways: ["nowhere"],
        http: [{ route: [{ destination: { host: "a" } }] }],
      }),
    );
    await expect.poll(async () => conditions(await statusOf(good)), soon).toContain("Reconciled=True");
    await expect.poll(async () => conditions(await statusOf(lost)), soon).toContain("Reconciled=False");
    const verdict = async (): Promise<Readonly<Record<string, unknown>>> =>
      readRecord(readList((await statusOf(lost)).conditions)[0]);
    expect(Number((await verdict()).observedGeneration)).toBe(1);
    expect(readText((await verdict()).reason)).not.toBe("");
    await cluster.admin.patch(kindFor(lost), lost.metadata, "merge", { spec: { gateways: ["mesh"] } });
    await expect.poll(async () => Number((await verdict()).observedGeneration), soon).toBe(2);
  });

  test("of a route say which parents took it", async () => {
    await cluster.create({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "edge", namespace },
      spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
    });
    const route = await cluster.create({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "route", namespace },
      spec: { parentRefs: [{ name: "edge" }], rules: [{ backendRefs: [{ name: "absent", port: 80 }] }] },
    });
    await expect
      .poll(async () => conditions(readList((await statusOf(route)).parents)[0]), soon)
      .toEqual(expect.arrayContaining(["Accepted=True", "ResolvedRefs=False"]));
  });

  test("a ServiceEntry is given addresses of its own", async () => {
    const entry = await cluster.create(
      istio("ServiceEntry", "out", {
        hosts: ["out.example.com"],
        resolution: "DNS",
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      }),
    );
    await expect.poll(async () => readList((await statusOf(entry)).addresses).length, soon).toBe(2);
  });
});

describe("the root", () => {
  const root = (of: string): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio-ca-root-cert", namespace: of },
  });
  const pem = async (of: string): Promise<string> =>
    readText(readRecord((await cluster.find(root(of)))?.data)["root-cert.pem"]);

  test("is in every namespace of the mesh, in no other, and comes back", async () => {
    await expect.poll(() => pem(namespace), soon).toContain("BEGIN CERTIFICATE");
    const elsewhere = await cluster.namespace();
    await cluster.admin.delete(kubeKinds.configMaps, root(namespace).metadata);
    await expect.poll(() => pem(namespace), soon).toContain("BEGIN CERTIFICATE");
    await cluster.admin.patch(kubeKinds.configMaps, root(namespace).metadata, "merge", {
      data: { "root-cert.pem": "x" },
    });
    await expect.poll(() => pem(namespace), soon).toContain("BEGIN CERTIFICATE");
    expect(await cluster.find(root(elsewhere))).toBeUndefined();
  });
});

describe("leadership", () => {
  test("two replicas: one holds each lock, and the other takes over where it ends", async () => {
    const lease = { name: `istio-gateway-status-leader-${plane.revision}`, namespace: plane.namespace };
    const holder = async (): Promise<string> =>
      readText(readRecord((await cluster.admin.find(kubeKinds.leases, lease))?.spec).holderIdentity);
    await expect.poll(holder, soon).toMatch(/-0$/);
    await plane.replica("second");
    expect(await holder()).toMatch(/-0$/);
    await plane.discovery.close();
    await expect.poll(holder, soon).toBe("second");
    const entry = await cluster.create(
      istio("ServiceEntry", "later", {
        hosts: ["later.example.com"],
        resolution: "DNS",
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
      }),
    );
    await expect.poll(async () => readList((await statusOf(entry)).addresses).length, soon).toBe(2);
  });
});

describe("rights", () => {
  const may = (verb: string, group: string, resource: string, of = namespace): Promise<boolean> =>
    reviewAccess(cluster.admin, { user: plane.user, verb, group, resource, namespace: of });

  test("no right that it does not need, and each that it does", async () => {
    for (const [verb, group, resource] of [
      ["list", "networking.istio.io", "virtualservices"],
      ["patch", "networking.istio.io", "virtualservices/status"],
      ["update", "", "configmaps"],
      ["patch", "apps", "deployments"],
    ] as const) {
      const [name = "", subresource] = resource.split("/");
      const allowed = await reviewAccess(cluster.admin, {
        user: plane.user,
        verb,
        group,
        resource: name,
        namespace,
        ...(subresource ? { subresource } : {}),
      });
      expect(allowed, `${verb} ${resource}`).toBe(true);
    }
    for (const [verb, group, resource] of [
      ["create", "", "secrets"],
      ["update", "", "secrets"],
      ["delete", "", "pods"],
      ["create", "", "pods"],
      ["delete", "", "namespaces"],
      ["update", "networking.istio.io", "virtualservices"],
      ["create", "rbac.authorization.k8s.io", "clusterrolebindings"],
      ["delete", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"],
      ["impersonate", "", "users"],
      ["*", "*", "*"],
    ] as const)
      expect(await may(verb, group, resource), `${verb} ${resource}`).toBe(false);
    expect(await may("update", "", "secrets", plane.namespace)).toBe(true);
  });
});

describe("what is installed", () => {
  test("everything of an installation is accepted by the API", async () => {
    const own = await cluster.namespace();
    const objects = installObjects({
      namespace: own,
      values: completeValues("default", [{ revision: `dry${cluster.id}`, revisionTags: ["prod"] }]),
      printYaml: (data) => JSON.stringify(data),
    });
    const refused: string[] = [];
    for (const object of objects) {
      if (["NetworkPolicy", "ServiceMonitor"].includes(object.kind)) continue;
      const path = `${collectionOf(object)}?dryRun=All&fieldValidation=Strict`;
      const { code, body } = await cluster.call("POST", path, object);
      if (code !== 200) refused.push(`${object.kind} ${object.metadata.name}: ${String(body.message)}`);
    }
    expect(refused).toEqual([]);
    expect(objects.length).toBeGreaterThan(15);
  });

  test("every resource definition of ours is accepted as it is", async () => {
    const refused: string[] = [];
    for (const kind of kinds) {
      const definition = crdFor(kind) as unknown as KubeObject;
      const found = await cluster.find(definition);
      const { code, body } = await cluster.call("PUT", `${pathOf(definition)}?dryRun=All&fieldValidation=Strict`, {
        ...definition,
        metadata: { ...definition.metadata, resourceVersion: found?.metadata.resourceVersion },
      });
      if (code !== 200) refused.push(`${definition.metadata.name}: ${String(body.message)}`);
    }
    expect(refused).toEqual([]);
  });
});

test("nothing that the control plane did was refused to it", () => {
  expect(plane.log.filter((line) => /forbidden/i.test(line))).toEqual([]);
});
