/** Who wins where Gateways meet on a port, and what follows from it elsewhere; objects in to JSON out. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio, pod, smallMesh } from "./objects.ts";
import { type RenderedProxy, renderProxy } from "./offline.ts";

const server = (number: number, protocol: string, hosts: readonly string[], mode?: string) => ({
  port: { number, protocol, name: `${protocol.toLowerCase()}-${number}-${mode}` },
  hosts,
  ...(mode ? { tls: { mode, ...(mode === "SIMPLE" ? { credentialName: "cert" } : {}) } } : {}),
});
const gateway = (name: string, ...servers: readonly unknown[]): KubeObject =>
  istio("Gateway", name, { selector: { app: "client" }, servers });

const edge = pod("client", { proxy: "router", address: "10.0.0.9", labels: { istio: "ingressgateway" } });
const secret: KubeObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "cert", namespace: "default" },
  data: { "tls.crt": "Y2VydA==", "tls.key": "a2V5" },
};
const ingress: KubeObject = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "z", namespace: "default", annotations: { "kubernetes.io/ingress.class": "istio" } },
  spec: { rules: [{ host: "a.com", http: { paths: [] } }] },
};

const byName = (resources: ReadonlyMap<string, unknown>): readonly string[] => [...resources.keys()].sort();
const sniClusters = ({ clusters }: RenderedProxy) => byName(clusters).filter((name) => name.startsWith("outbound_."));

test.each<[string, readonly KubeObject[], (made: RenderedProxy) => unknown, unknown]>([
  [
    "an AUTO_PASSTHROUGH server that has its hosts to itself makes clusters by SNI",
    [gateway("a", server(443, "TLS", ["*.com"], "AUTO_PASSTHROUGH"))],
    sniClusters,
    ["outbound_.80_._.web.default.svc.cluster.local"],
  ],
  [
    "one that lost its hosts to an older Gateway makes none",
    [
      gateway("a", server(443, "TLS", ["*.com"], "PASSTHROUGH")),
      gateway("b", server(443, "TLS", ["*.com"], "AUTO_PASSTHROUGH")),
    ],
    sniClusters,
    [],
  ],
  [
    "a certificate is asked for where a chain shows it",
    [secret, gateway("a", server(443, "HTTPS", ["a.com"], "SIMPLE"))],
    ({ secrets }) => byName(secrets),
    ["kubernetes://cert"],
  ],
  [
    "and not for a TLS server that no route is for",
    [secret, gateway("a", server(443, "TLS", ["a.com"], "SIMPLE"))],
    ({ secrets }) => byName(secrets),
    [],
  ],
  [
    "the Gateway of an Ingress has no date, so it comes before any that a user made",
    [ingress, gateway("a", server(80, "TCP", ["*"]))],
    ({ routes }) => byName(routes),
    ["http.80"],
  ],
])("%s", async (_, objects, look, expected) => {
  const made = await renderProxy({ objects: [edge, ...smallMesh().slice(1), ...objects] });
  expect(look(made)).toEqual(expected);
});
