import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createConfigs } from "./configs.ts";
import { watchObjects } from "./watched-kinds.ts";

const object = (kind: string, resourceVersion: string, more: object): KubeObject => ({
  apiVersion: kind === "WasmPlugin" ? "extensions.istio.io/v1alpha1" : "networking.istio.io/v1",
  kind,
  metadata: { name: "one", namespace: "default", uid: "1", generation: 1, resourceVersion },
  ...more,
});

test("a status that is written is no change of the config, but where proxies are told the version", () => {
  const graph = createGraph();
  const source = createMemorySource({ graph });
  const { configs } = createConfigs(graph, watchObjects(source).objects, () => true);
  const told: string[] = [];
  configs.virtualServices.subscribe((key) => told.push(`route ${key}`));
  configs.wasmPlugins.subscribe((key) => told.push(`plugin ${key}`));
  const [route, plugin] = [{ spec: { hosts: ["web"] } }, { spec: { url: "file:///x" } }];
  const status = { status: { conditions: [{ type: "Programmed", status: "True" }] } };
  source.apply([object("VirtualService", "1", route), object("WasmPlugin", "1", plugin)]);
  expect(told.splice(0)).toEqual(["route default/one", "plugin default/one"]);
  source.apply([object("VirtualService", "2", { ...route, ...status })]);
  expect(told.splice(0)).toEqual([]);
  source.apply([object("WasmPlugin", "2", { ...plugin, ...status })]);
  expect(told.splice(0)).toEqual(["plugin default/one"]);
  source.apply([object("VirtualService", "3", { spec: { hosts: ["other"] } })]);
  expect(told).toEqual(["route default/one"]);
});
