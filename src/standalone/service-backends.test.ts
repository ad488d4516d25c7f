import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";
import { serviceBackends } from "./service-backends.ts";

const ports = [
  { name: "dns", port: 53, protocol: "UDP", targetPort: 5353 },
  { name: "dns-tcp", port: 53, protocol: "TCP", targetPort: 5354 },
];

test.each([
  ["UDP first", ports],
  ["TCP first", ports.toReversed()],
])("connections to a number are relayed to where TCP is served: %s", (_, declared) => {
  const graph = createGraph();
  const metadata = { name: "web", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } };
  const [services, slices] = [graph.source<KubeObject>("services"), graph.source<KubeObject>("slices")];
  services.set("shop/web", { apiVersion: "v1", kind: "Service", metadata, spec: { ports: declared } });
  slices.set("shop/web", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata,
    ports: declared.map(({ name, targetPort }) => ({ name, port: targetPort })),
    endpoints: [{ addresses: ["10.0.0.1"] }],
  } as KubeObject);
  const wanted = { namespace: "shop", name: "web", port: 53 };
  expect(serviceBackends(services, slices, wanted)()).toEqual([{ host: "10.0.0.1", port: 5354 }]);
});
