import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi, type TestApi } from "../../apiserver/testing.ts";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../kube/index.ts";
import { parsePodName } from "../../model/index.ts";
import { findPods } from "./pod.ts";

test.each([
  ["web", { type: "", name: "web", namespace: "default" }],
  ["web.shop", { type: "", name: "web", namespace: "shop" }],
  ["web.v1.shop", { type: "", name: "web.v1", namespace: "shop" }],
  ["pod/web.shop", { type: "", name: "web", namespace: "shop" }],
  ["deployment/web", { type: "deployment", name: "web", namespace: "default" }],
  ["deployments.apps/web.shop", { type: "deployments.apps", name: "web", namespace: "shop" }],
])("%s", (text, expected) => {
  expect(parsePodName(text, "default")).toEqual(expected);
});

let api: TestApi;
let client: KubeClient;
beforeAll(async () => {
  api = await startApi();
  client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  const pod = (name: string, labels: object, phase: string): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: { containers: [{ name: "app", image: "x:1" }] },
    status: { phase },
  });
  const pods = "/api/v1/namespaces/default/pods";
  for (const [name, labels, phase] of [
    ["web-0", { app: "web", tier: "front" }, "Pending"],
    ["web-1", { app: "web", tier: "front" }, "Running"],
    ["db-0", { app: "db" }, "Running"],
  ] as const) {
    await api.call("POST", pods, pod(name, labels, phase));
    await api.call("PATCH", `${pods}/${name}/status`, { status: { phase } }, "application/merge-patch+json");
  }
  await api.call("POST", "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "front" },
    spec: { selector: { tier: "front" }, ports: [{ port: 80 }] },
  });
});
afterAll(async () => {
  client.close();
  await api.close();
});

const found = async (text: string): Promise<readonly string[]> =>
  (await findPods(client, parsePodName(text, "default"))).map(({ name }) => name);

test("a Service means the Pods that it selects, running ones first", async () => {
  expect(await found("svc/front")).toEqual(["web-1", "web-0"]);
});

test("a Deployment that is not stored means Pods by their label", async () => {
  expect(await found("deployment/db")).toEqual(["db-0"]);
  await expect(found("deployment/nope")).rejects.toThrow('no pods match "deployment/nope"');
});

test("a Pod is looked up for its uid, and need not be there", async () => {
  const [pod] = await findPods(client, parsePodName("db-0", "default"));
  expect(pod?.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(await findPods(client, parsePodName("nope", "default"))).toEqual([
    { name: "nope", namespace: "default", uid: undefined },
  ]);
});
