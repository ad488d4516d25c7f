import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { createPushReasons } from "./push-reasons.ts";
import { watchObjects } from "./watched-kinds.ts";

test("a push is told what it is made for, each reason once", () => {
  const api = createMemorySource({ graph: createGraph(), objects: [] });
  const reasons = createPushReasons(watchObjects(api));
  const object = (apiVersion: string, kind: string, name: string) => ({
    apiVersion,
    kind,
    metadata: { name, namespace: "shop" },
  });
  expect(reasons()).toEqual(["proxy"]);
  api.apply([object("discovery.k8s.io/v1", "EndpointSlice", "a"), object("v1", "Pod", "b")]);
  expect(reasons()).toEqual(["endpoint"]);
  api.apply([object("networking.istio.io/v1", "VirtualService", "a"), object("v1", "Service", "b")]);
  expect(reasons().toSorted()).toEqual(["config", "service"]);
  expect(reasons()).toEqual(["proxy"]);
});
