import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi, type TestApi } from "../../apiserver/testing.ts";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../kube/index.ts";
import { exposeWorkload, serviceOf } from "./service.ts";

let api: TestApi;
let client: KubeClient;
beforeAll(async () => {
  api = await startApi();
  client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
});
afterAll(async () => {
  client.close();
  await api.close();
});

test("a workload is reached by the Service that is made for it, or by one that selects its labels", async () => {
  const spec = { namespace: "default", labels: { app: "web", version: "v1" }, ports: [8000, 9000] };
  expect(await serviceOf(client, spec)).toBeUndefined();
  await exposeWorkload(client, "web", spec);
  await exposeWorkload(client, "web", spec);
  expect(await serviceOf(client, spec)).toBe("web");
  expect(await serviceOf(client, { ...spec, labels: { app: "other" } })).toBeUndefined();
  const { out } = await api.kubectl("get service web -o jsonpath={.spec.ports[*].port}");
  expect(out).toBe("8000 9000");
});
