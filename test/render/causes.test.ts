/** Which objects a resource names as its makers: those that decided what a proxy sees too, not only those that are in it. */
import { expect, test } from "vitest";
import { types } from "../../src/model/index.ts";
import { istio, pod, service, smallMesh } from "./objects.ts";
import { renderProxy } from "./offline.ts";

const host = "web.default.svc.cluster.local";
const route = { hosts: ["web"], http: [{ route: [{ destination: { host: "web" } }] }] };
const objects = [
  pod("client", { proxy: "sidecar" }),
  service("web", { port: 80, portName: "http", spec: { clusterIP: "10.1.0.1" } }),
  istio("VirtualService", "v", { ...route, exportTo: ["."] }),
  istio("DestinationRule", "d", { host: "web", exportTo: ["."], trafficPolicy: { tls: { mode: "DISABLE" } } }),
];

test.each([
  ["of its namespace", {}],
  ["that selects it", { workloadSelector: { labels: { app: "client" } } }],
])("a Sidecar %s is named beside what it lets through, in parts that proxies share too", async (_which, selector) => {
  const sidecar = istio("Sidecar", "own", { ...selector, egress: [{ hosts: ["./*"] }] });
  const { causes } = await renderProxy({ objects: [...objects, sidecar] });
  const seen = ["Sidecar/default/own", "Service/default/web", "DestinationRule/default/d"];
  expect(causes(types.route, "80")).toEqual(expect.arrayContaining([...seen, "VirtualService/default/v"]));
  for (const type of [types.cluster, types.endpoint])
    expect(causes(type, `outbound|80||${host}`)).toEqual(expect.arrayContaining(seen));
});

test("what is exported to one namespace only is named by what its proxies get", async () => {
  const { causes } = await renderProxy({ objects });
  expect(causes(types.route, "80")).toContain("VirtualService/default/v");
  expect(causes(types.cluster, `outbound|80||${host}`)).toContain("DestinationRule/default/d");
});

test("a cluster names the PeerAuthentications of its servers, and none of their other policies", async () => {
  const peers = istio("PeerAuthentication", "p", { mtls: { mode: "STRICT" } });
  const others = [istio("AuthorizationPolicy", "a", {}), istio("Telemetry", "t", {})];
  const { causes } = await renderProxy({ objects: [...smallMesh(), peers, ...others] });
  for (const type of [types.cluster, types.endpoint]) {
    const named = causes(type, `outbound|80||${host}`);
    expect(named).toContain("PeerAuthentication/default/p");
    expect(named.filter((one) => /^(AuthorizationPolicy|Telemetry)/.test(one))).toEqual([]);
  }
});
