/** VirtualService: traffic routing for hosts. */

import {
  corsPolicy,
  httpDirectResponse,
  httpFaultInjection,
  httpRedirect,
  httpRetry,
  httpRewrite,
  percent,
  routeHeaders,
  stringMatch,
} from "./http-policy.ts";
import { defineKind } from "./kind.ts";
import { array, boolean, duration, type Infer, int32, map, object, string, uint32 } from "./schema.ts";
import { istioStatus } from "./status.ts";

const httpMatchRequest = object(
  {
    name: string(),
    uri: stringMatch,
    scheme: stringMatch,
    method: stringMatch,
    authority: stringMatch,
    headers: map(stringMatch),
    port: uint32(),
    sourceLabels: map(string()),
    gateways: array(string()),
    queryParams: map(stringMatch),
    ignoreUriCase: boolean(),
    withoutHeaders: map(stringMatch),
    sourceNamespace: string(),
    statPrefix: string(),
  },
  { proto: "istio.networking.v1alpha3.HTTPMatchRequest" },
);
export type HTTPMatchRequest = Infer<typeof httpMatchRequest>;

export const portSelector = object({ number: uint32() }, { proto: "istio.networking.v1alpha3.PortSelector" });
export type PortSelector = Infer<typeof portSelector>;

export const destination = object(
  { host: string(), subset: string(), port: portSelector },
  { proto: "istio.networking.v1alpha3.Destination", required: ["host"] },
);
export type Destination = Infer<typeof destination>;

const httpRouteDestination = object(
  { destination, weight: int32(), headers: routeHeaders },
  { proto: "istio.networking.v1alpha3.HTTPRouteDestination", required: ["destination"] },
);
export type HTTPRouteDestination = Infer<typeof httpRouteDestination>;

const delegate = object({ name: string(), namespace: string() }, { proto: "istio.networking.v1alpha3.Delegate" });
export type Delegate = Infer<typeof delegate>;

const httpMirrorPolicy = object(
  { destination, percentage: percent },
  { proto: "istio.networking.v1alpha3.HTTPMirrorPolicy", required: ["destination"] },
);
export type HTTPMirrorPolicy = Infer<typeof httpMirrorPolicy>;

const httpRoute = object(
  {
    name: string(),
    match: array(httpMatchRequest),
    route: array(httpRouteDestination),
    redirect: httpRedirect,
    directResponse: httpDirectResponse,
    delegate,
    rewrite: httpRewrite,
    timeout: duration(),
    retries: httpRetry,
    fault: httpFaultInjection,
    mirror: destination,
    mirrors: array(httpMirrorPolicy),
    mirrorPercent: uint32({ nullable: true }),
    mirrorPercentage: percent,
    corsPolicy,
    headers: routeHeaders,
    mirror_percent: uint32({ nullable: true }),
  },
  { proto: "istio.networking.v1alpha3.HTTPRoute" },
);
export type HTTPRoute = Infer<typeof httpRoute>;

const tlsMatchAttributes = object(
  {
    sniHosts: array(string()),
    destinationSubnets: array(string()),
    port: uint32(),
    sourceLabels: map(string()),
    gateways: array(string()),
    sourceNamespace: string(),
  },
  { proto: "istio.networking.v1alpha3.TLSMatchAttributes", required: ["sniHosts"] },
);
export type TLSMatchAttributes = Infer<typeof tlsMatchAttributes>;

const routeDestination = object(
  { destination, weight: int32() },
  { proto: "istio.networking.v1alpha3.RouteDestination", required: ["destination"] },
);
export type RouteDestination = Infer<typeof routeDestination>;

const tlsRoute = object(
  { match: array(tlsMatchAttributes), route: array(routeDestination) },
  { proto: "istio.networking.v1alpha3.TLSRoute", required: ["match"] },
);
export type TLSRoute = Infer<typeof tlsRoute>;

const l4MatchAttributes = object(
  {
    destinationSubnets: array(string()),
    port: uint32(),
    sourceSubnet: string(),
    sourceLabels: map(string()),
    gateways: array(string()),
    sourceNamespace: string(),
  },
  { proto: "istio.networking.v1alpha3.L4MatchAttributes" },
);
export type L4MatchAttributes = Infer<typeof l4MatchAttributes>;

const tcpRoute = object(
  { match: array(l4MatchAttributes), route: array(routeDestination) },
  { proto: "istio.networking.v1alpha3.TCPRoute" },
);
export type TCPRoute = Infer<typeof tcpRoute>;

const virtualServiceSpec = object(
  {
    hosts: array(string()),
    gateways: array(string()),
    http: array(httpRoute),
    tls: array(tlsRoute),
    tcp: array(tcpRoute),
    exportTo: array(string()),
  },
  { proto: "istio.networking.v1alpha3.VirtualService" },
);
export type VirtualServiceSpec = Infer<typeof virtualServiceSpec>;

export const virtualService = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "VirtualService",
  plural: "virtualservices",
  shortNames: ["vs"],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Gateways", type: "string", jsonPath: ".spec.gateways" },
    { name: "Hosts", type: "string", jsonPath: ".spec.hosts" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: virtualServiceSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
