import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { changedKinds, changes, meshConfig } from "./changes.ts";
import { type MeshApi, openApi } from "./mesh-api.ts";
import { putScenario } from "./put-scenario.ts";

const size = { services: 6, endpoints: 1, namespaces: 2, routed: 3 };
let server: TestApi;
let api: MeshApi;

beforeAll(async () => {
  server = await startApi();
  api = await openApi(server.kubeconfig);
});
afterAll(async () => {
  api.close();
  await server.close();
});

const namesOf = async (kind: (typeof changedKinds)[number]): Promise<readonly string[]> =>
  (await api.list(kind)).map(({ kind: name, metadata }) => `${name} ${metadata.namespace ?? ""}/${metadata.name}`);

const all = async (): Promise<readonly string[]> =>
  (await Promise.all([{ apiVersion: "v1", kind: "Namespace" }, ...changedKinds].map(namesOf))).flat().toSorted();

test("an API that is there is left as it was found, though a run was broken off in its midst", async () => {
  const found = await all();
  const undo = await putScenario(api, size, 100);
  for (const { apply = [] } of changes({ size, mode: "delta", run: "7" })) await api.apply(apply);
  const metadata = { name: "istio-ca-root-cert", namespace: "ns-1" };
  await api.apply([{ apiVersion: "v1", kind: "ConfigMap", metadata, data: {} }]);
  expect((await all()).length).toBeGreaterThan(found.length + 2 + 2 * size.services + 2 * size.routed);
  await undo();
  expect(await all()).toEqual(found);
});

test("settings of the mesh that were there come back", async () => {
  const own = meshConfig({ accessLogFile: "/dev/stderr" });
  await api.apply([own]);
  const undo = await putScenario(api, size, 100);
  await api.apply([meshConfig({})]);
  await undo();
  expect((await api.find(own))?.["data"]).toEqual(own["data"]);
});
