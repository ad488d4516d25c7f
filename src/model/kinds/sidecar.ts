/** Sidecar: what a workload listens on and can reach. */

import { serverTLSSettings } from "./gateway.ts";
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, map, object, string, uint32 } from "./schema.ts";
import { istioStatus } from "./status.ts";
import { connectionPoolSettings } from "./traffic-policy.ts";
import { destination } from "./virtual-service.ts";

export const sidecarWorkloadSelector = object(
  {
    labels: map(
      string({
        rules: [{ message: "wildcard is not supported in selector", rule: '!self.contains("*")' }],
        maxLength: 63,
      }),
      { maxProperties: 256 },
    ),
  },
  { proto: "istio.networking.v1alpha3.WorkloadSelector" },
);
export type SidecarWorkloadSelector = Infer<typeof sidecarWorkloadSelector>;

const sidecarPort = object(
  { number: uint32(), protocol: string(), name: string(), targetPort: uint32() },
  { proto: "istio.networking.v1alpha3.SidecarPort" },
);
export type SidecarPort = Infer<typeof sidecarPort>;

const istioIngressListener = object(
  {
    port: sidecarPort,
    bind: string(),
    captureMode: enumOf(["DEFAULT", "IPTABLES", "NONE"], { proto: "istio.networking.v1alpha3.CaptureMode" }),
    defaultEndpoint: string(),
    tls: serverTLSSettings,
    connectionPool: connectionPoolSettings,
  },
  { proto: "istio.networking.v1alpha3.IstioIngressListener", required: ["port"] },
);
export type IstioIngressListener = Infer<typeof istioIngressListener>;

const istioEgressListener = object(
  {
    port: sidecarPort,
    bind: string(),
    captureMode: enumOf(["DEFAULT", "IPTABLES", "NONE"], { proto: "istio.networking.v1alpha3.CaptureMode" }),
    hosts: array(string()),
  },
  { proto: "istio.networking.v1alpha3.IstioEgressListener", required: ["hosts"] },
);
export type IstioEgressListener = Infer<typeof istioEgressListener>;

const outboundTrafficPolicy = object(
  {
    mode: enumOf(["REGISTRY_ONLY", "ALLOW_ANY"], { proto: "istio.networking.v1alpha3.OutboundTrafficPolicy.Mode" }),
    egressProxy: destination,
  },
  { proto: "istio.networking.v1alpha3.OutboundTrafficPolicy" },
);
export type OutboundTrafficPolicy = Infer<typeof outboundTrafficPolicy>;

const sidecarSpec = object(
  {
    workloadSelector: sidecarWorkloadSelector,
    ingress: array(istioIngressListener),
    egress: array(istioEgressListener),
    inboundConnectionPool: connectionPoolSettings,
    outboundTrafficPolicy,
  },
  { proto: "istio.networking.v1alpha3.Sidecar" },
);
export type SidecarSpec = Infer<typeof sidecarSpec>;

export const sidecar = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "Sidecar",
  plural: "sidecars",
  shortNames: [],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [],
  spec: sidecarSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
