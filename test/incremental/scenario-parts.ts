/** Proxies and endpoints for tests on the bench's scenario: a sidecar of a deployment, and the endpoints of one service. */
import type { KubeObject } from "../../src/model/index.ts";
import type { LiveProxy } from "./proxies.ts";

export const sidecarOf = (namespace: string, app: string, serviceAccount = app): LiveProxy => ({
  name: `${app}.${namespace}`,
  identity: { trustDomain: "cluster.local", namespace, serviceAccount },
  node: {
    id: `sidecar~10.0.0.1~${app}.${namespace}~${namespace}.svc.cluster.local`,
    cluster: app,
    metadata: { NAMESPACE: namespace, LABELS: { app }, INSTANCE_IPS: "10.0.0.1" },
    locality: { region: "", zone: "", subZone: "" },
    extensions: new Set(),
    userAgent: "",
  },
});

/** Of service `svc-1`, whose cluster this is. */
export const changedCluster = "outbound|80||svc-1.ns-1.svc.cluster.local";
export const slice = (address: string): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "svc-1-a", namespace: "ns-1", labels: { "kubernetes.io/service-name": "svc-1" } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
});
