/** What a cluster's own controllers do, done by the standalone mesh: through the embedded API. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, adminUser, createApiServer } from "../../src/apiserver/index.ts";
import { startControllers } from "../../src/cli/up/controllers.ts";
import { createKubeClient, type KindRef, type KubeClient, loadKubeconfig } from "../../src/kube/index.ts";
import { isRecord, silentLogger } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { planNetwork, standaloneKinds } from "../../src/standalone/index.ts";

const { services, pods, endpointSlices, namespaces, serviceAccounts, configMaps } = standaloneKinds;

describe("standalone controllers", () => {
  const work = mkdtempSync(join(tmpdir(), "fairlead-controllers-"));
  let api: ApiServer;
  let client: KubeClient;
  let stop = (): void => {};

  beforeAll(async () => {
    api = await createApiServer({
      dataDir: join(work, "api"),
      host: "127.0.0.1",
      port: 0,
      now: () => new Date(),
      log: silentLogger,
    });
    await api.writeKubeconfig(join(work, "kubeconfig"), adminUser);
    client = createKubeClient(await loadKubeconfig({ paths: [join(work, "kubeconfig")], env: {} }));
    const plan = planNetwork({ dataDir: work, podCidr: "10.20.0.0/24", serviceCidr: "10.21.0.0/24" });
    const controllers = await startControllers(client, plan, silentLogger);
    stop = controllers.close;
  });
  afterAll(async () => {
    stop();
    client.close();
    await api.close();
    rmSync(work, { recursive: true, force: true });
  });

  const pod = (name: string, labels: Readonly<Record<string, string>>): KubeObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels },
    spec: { containers: [{ name: "app", image: "x", ports: [{ name: "web", containerPort: 8080 }] }] },
  });
  const running = (ip: string, ready: boolean): object => ({
    phase: "Running",
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
  });
  const specOf = (object: KubeObject | undefined): Readonly<Record<string, unknown>> =>
    isRecord(object?.["spec"]) ? object["spec"] : {};
  const find = (kind: KindRef, name: string, namespace = "default") => client.find(kind, { name, namespace });

  test("a Service is given an address of its range, each another", async () => {
    for (const name of ["one", "two"])
      await client.create(services, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "default" },
        spec: { ports: [{ port: 80 }] },
      });
    await client.create(services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "none", namespace: "default" },
      spec: { clusterIP: "None", ports: [{ port: 80 }] },
    });
    const address = async (name: string): Promise<unknown> => specOf(await find(services, name))["clusterIP"];
    await expect.poll(() => address("one")).toMatch(/^10\.21\.0\./);
    await expect.poll(() => address("two")).toMatch(/^10\.21\.0\./);
    expect(await address("one")).not.toBe(await address("two"));
    expect(await address("none")).toBe("None");
  });

  test("EndpointSlices follow Pods: none while none matches, named ports resolved, readiness told, foreign slices left alone", async () => {
    await client.create(services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: "web" }] },
    });
    const foreign: KubeObject = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "web-by-hand", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.1"] }],
      ports: [],
    };
    await client.create(endpointSlices, foreign);
    await client.create(pods, pod("web-0", { app: "web" }));
    await client.patchStatus(pods, { name: "web-0", namespace: "default" }, running("10.20.0.50", true));
    await expect
      .poll(async () => find(endpointSlices, "web-fairlead"))
      .toMatchObject({
        ports: [{ name: "http", port: 8080 }],
        endpoints: [{ addresses: ["10.20.0.50"], conditions: { ready: true } }],
      });
    await client.patchStatus(pods, { name: "web-0", namespace: "default" }, running("10.20.0.50", false));
    await expect
      .poll(async () => find(endpointSlices, "web-fairlead"))
      .toMatchObject({ endpoints: [{ conditions: { ready: false } }] });
    await client.delete(pods, { name: "web-0", namespace: "default" }, { gracePeriodSeconds: 0 });
    await expect.poll(async () => find(endpointSlices, "web-fairlead")).toBeUndefined();
    expect(await find(endpointSlices, "web-by-hand")).toMatchObject({ endpoints: [{ addresses: ["192.0.2.1"] }] });
  });

  test("what is owned goes with its owner", async () => {
    const owner = await client.create(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "owner", namespace: "default" },
    });
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid ?? "" }];
    await client.create(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "owned", namespace: "default", ownerReferences },
    });
    await client.delete(configMaps, { name: "owner", namespace: "default" });
    await expect.poll(() => find(configMaps, "owned"), { timeout: 300_000 }).toBeUndefined();
  });

  test("a namespace has its default account, and takes everything in it along", async () => {
    await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
    await expect.poll(() => find(serviceAccounts, "default", "shop")).toBeDefined();
    await client.create(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "inside", namespace: "shop" },
    });
    await client.delete(namespaces, { name: "shop" });
    await expect.poll(() => client.find(namespaces, { name: "shop" }), { timeout: 300_000 }).toBeUndefined();
    expect(await find(configMaps, "inside", "shop")).toBeUndefined();
  });
});
