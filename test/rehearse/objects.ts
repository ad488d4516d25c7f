/** A small cluster for rehearsals: a caller, a server, a route with a timeout of choice, a policy. */
import type { KubeObject } from "../../src/model/index.ts";

export const podAddresses: readonly (readonly [string, string])[] = [
  ["client", "10.0.0.9"],
  ["web-1", "10.0.0.1"],
];

const pod = (name: string, app: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", labels: { app, "security.istio.io/tlsMode": "istio" } },
  spec: {
    serviceAccountName: app,
    containers: [
      { name: "app", image: "none" },
      { name: "istio-proxy", image: "none", args: ["proxy", "sidecar"] },
    ],
  },
});

export const objects = (timeout: string): readonly KubeObject[] => [
  pod("client", "client"),
  pod("web-1", "web"),
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default" },
    spec: { clusterIP: "10.96.0.77", selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web-a", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: [
      {
        addresses: ["10.0.0.1"],
        conditions: { ready: true },
        targetRef: { kind: "Pod", name: "web-1", namespace: "default" },
      },
    ],
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "web", namespace: "default" },
    spec: { hosts: ["web"], http: [{ timeout, route: [{ destination: { host: "web" } }] }] },
  },
  {
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: "deny-admin", namespace: "default" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      action: "DENY",
      rules: [{ to: [{ operation: { paths: ["/admin"] } }] }],
    },
  },
];
