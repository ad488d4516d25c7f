/** EnvoyFilter: patches on the Envoy config. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, int32, map, object, string, struct, uint32 } from "./schema.ts";
import { policyTargetReference } from "./selector.ts";
import { sidecarWorkloadSelector } from "./sidecar.ts";
import { istioStatus } from "./status.ts";

const envoyFilterProxyMatch = object(
  { proxyVersion: string(), metadata: map(string()) },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.ProxyMatch" },
);
export type EnvoyFilterProxyMatch = Infer<typeof envoyFilterProxyMatch>;

const envoyFilterListenerMatchSubFilterMatch = object(
  { name: string() },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.ListenerMatch.SubFilterMatch" },
);
export type EnvoyFilterListenerMatchSubFilterMatch = Infer<typeof envoyFilterListenerMatchSubFilterMatch>;

const envoyFilterListenerMatchFilterMatch = object(
  { name: string(), subFilter: envoyFilterListenerMatchSubFilterMatch },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.ListenerMatch.FilterMatch" },
);
export type EnvoyFilterListenerMatchFilterMatch = Infer<typeof envoyFilterListenerMatchFilterMatch>;

const envoyFilterListenerMatchFilterChainMatch = object(
  {
    name: string(),
    sni: string(),
    transportProtocol: string(),
    applicationProtocols: string(),
    filter: envoyFilterListenerMatchFilterMatch,
    destinationPort: uint32(),
    transportSocket: string(),
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.ListenerMatch.FilterChainMatch" },
);
export type EnvoyFilterListenerMatchFilterChainMatch = Infer<typeof envoyFilterListenerMatchFilterChainMatch>;

const envoyFilterListenerMatch = object(
  {
    portNumber: uint32(),
    portName: string(),
    filterChain: envoyFilterListenerMatchFilterChainMatch,
    listenerFilter: string(),
    name: string(),
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.ListenerMatch" },
);
export type EnvoyFilterListenerMatch = Infer<typeof envoyFilterListenerMatch>;

const envoyFilterRouteConfigurationMatchRouteMatch = object(
  {
    name: string(),
    action: enumOf(["ANY", "ROUTE", "REDIRECT", "DIRECT_RESPONSE"], {
      proto: "istio.networking.v1alpha3.EnvoyFilter.RouteConfigurationMatch.RouteMatch.Action",
    }),
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.RouteConfigurationMatch.RouteMatch" },
);
export type EnvoyFilterRouteConfigurationMatchRouteMatch = Infer<typeof envoyFilterRouteConfigurationMatchRouteMatch>;

const envoyFilterRouteConfigurationMatchVirtualHostMatch = object(
  { name: string(), domainName: string(), route: envoyFilterRouteConfigurationMatchRouteMatch },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.RouteConfigurationMatch.VirtualHostMatch" },
);
export type EnvoyFilterRouteConfigurationMatchVirtualHostMatch = Infer<
  typeof envoyFilterRouteConfigurationMatchVirtualHostMatch
>;

const envoyFilterRouteConfigurationMatch = object(
  {
    portNumber: uint32(),
    portName: string(),
    gateway: string(),
    vhost: envoyFilterRouteConfigurationMatchVirtualHostMatch,
    name: string(),
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.RouteConfigurationMatch" },
);
export type EnvoyFilterRouteConfigurationMatch = Infer<typeof envoyFilterRouteConfigurationMatch>;

const envoyFilterClusterMatch = object(
  { portNumber: uint32(), service: string(), subset: string(), name: string() },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.ClusterMatch" },
);
export type EnvoyFilterClusterMatch = Infer<typeof envoyFilterClusterMatch>;

const envoyFilterWaypointMatchRouteMatch = object(
  { name: string() },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.WaypointMatch.RouteMatch" },
);
export type EnvoyFilterWaypointMatchRouteMatch = Infer<typeof envoyFilterWaypointMatchRouteMatch>;

const envoyFilterWaypointMatchFilterMatchSubFilterMatch = object(
  { name: string() },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.WaypointMatch.FilterMatch.SubFilterMatch" },
);
export type EnvoyFilterWaypointMatchFilterMatchSubFilterMatch = Infer<
  typeof envoyFilterWaypointMatchFilterMatchSubFilterMatch
>;

const envoyFilterWaypointMatchFilterMatch = object(
  { name: string(), subFilter: envoyFilterWaypointMatchFilterMatchSubFilterMatch },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.WaypointMatch.FilterMatch" },
);
export type EnvoyFilterWaypointMatchFilterMatch = Infer<typeof envoyFilterWaypointMatchFilterMatch>;

const envoyFilterWaypointMatch = object(
  {
    portNumber: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
    route: envoyFilterWaypointMatchRouteMatch,
    filter: envoyFilterWaypointMatchFilterMatch,
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.WaypointMatch" },
);
export type EnvoyFilterWaypointMatch = Infer<typeof envoyFilterWaypointMatch>;

const envoyFilterEnvoyConfigObjectMatch = object(
  {
    context: enumOf(["ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY", "WAYPOINT"], {
      proto: "istio.networking.v1alpha3.EnvoyFilter.PatchContext",
    }),
    proxy: envoyFilterProxyMatch,
    listener: envoyFilterListenerMatch,
    routeConfiguration: envoyFilterRouteConfigurationMatch,
    cluster: envoyFilterClusterMatch,
    waypoint: envoyFilterWaypointMatch,
  },
  {
    proto: "istio.networking.v1alpha3.EnvoyFilter.EnvoyConfigObjectMatch",
    oneOf: [["listener", "routeConfiguration", "cluster", "waypoint"]],
    rules: [
      {
        message: "only support waypointMatch when context is WAYPOINT",
        rule: 'has(self.context) ? ((self.context == "WAYPOINT") ? has(self.waypoint) : !has(self.waypoint)) : !has(self.waypoint)',
      },
    ],
  },
);
export type EnvoyFilterEnvoyConfigObjectMatch = Infer<typeof envoyFilterEnvoyConfigObjectMatch>;

const envoyFilterPatch = object(
  {
    operation: enumOf(
      [
        "INVALID",
        "MERGE",
        "ADD",
        "REMOVE",
        "INSERT_BEFORE",
        "INSERT_AFTER",
        "INSERT_FIRST",
        "REPLACE",
        "MERGE_AND_REPLACE_LIST",
      ],
      { proto: "istio.networking.v1alpha3.EnvoyFilter.Patch.Operation" },
    ),
    value: struct(),
    filterClass: enumOf(["UNSPECIFIED", "AUTHN", "AUTHZ", "STATS"], {
      proto: "istio.networking.v1alpha3.EnvoyFilter.Patch.FilterClass",
    }),
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.Patch" },
);
export type EnvoyFilterPatch = Infer<typeof envoyFilterPatch>;

const envoyFilterEnvoyConfigObjectPatch = object(
  {
    applyTo: enumOf(
      [
        "INVALID",
        "LISTENER",
        "FILTER_CHAIN",
        "NETWORK_FILTER",
        "HTTP_FILTER",
        "ROUTE_CONFIGURATION",
        "VIRTUAL_HOST",
        "HTTP_ROUTE",
        "CLUSTER",
        "EXTENSION_CONFIG",
        "BOOTSTRAP",
        "LISTENER_FILTER",
      ],
      { proto: "istio.networking.v1alpha3.EnvoyFilter.ApplyTo" },
    ),
    match: envoyFilterEnvoyConfigObjectMatch,
    patch: envoyFilterPatch,
  },
  { proto: "istio.networking.v1alpha3.EnvoyFilter.EnvoyConfigObjectPatch" },
);
export type EnvoyFilterEnvoyConfigObjectPatch = Infer<typeof envoyFilterEnvoyConfigObjectPatch>;

const envoyFilterSpec = object(
  {
    workloadSelector: sidecarWorkloadSelector,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    configPatches: array(envoyFilterEnvoyConfigObjectPatch),
    priority: int32(),
  },
  {
    proto: "istio.networking.v1alpha3.EnvoyFilter",
    rules: [
      {
        message: "only one of targetRefs or workloadSelector can be set",
        rule: "(has(self.workloadSelector) ? 1 : 0) + (has(self.targetRefs) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type EnvoyFilterSpec = Infer<typeof envoyFilterSpec>;

export const envoyFilter = defineKind({
  group: "networking.istio.io",
  versions: [{ name: "v1alpha3", served: true, storage: true }],
  kind: "EnvoyFilter",
  plural: "envoyfilters",
  shortNames: [],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [],
  spec: envoyFilterSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
