/** EnvoyFilter: patches on the Envoy config. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, int32, map, object, string, struct, uint32 } from "./schema.ts";
import { policyTargetReference } from "./selector.ts";
import { sidecarWorkloadSelector } from "./sidecar.ts";
import { istioStatus } from "./status.ts";

export const envoyFilterProxyMatch = object({ proxyVersion: string(), metadata: map(string()) });
export type EnvoyFilterProxyMatch = Infer<typeof envoyFilterProxyMatch>;

export const envoyFilterListenerMatchSubFilterMatch = object({ name: string() });
export type EnvoyFilterListenerMatchSubFilterMatch = Infer<typeof envoyFilterListenerMatchSubFilterMatch>;

export const envoyFilterListenerMatchFilterMatch = object({
  name: string(),
  subFilter: envoyFilterListenerMatchSubFilterMatch,
});
export type EnvoyFilterListenerMatchFilterMatch = Infer<typeof envoyFilterListenerMatchFilterMatch>;

export const envoyFilterListenerMatchFilterChainMatch = object({
  name: string(),
  sni: string(),
  transportProtocol: string(),
  applicationProtocols: string(),
  filter: envoyFilterListenerMatchFilterMatch,
  destinationPort: uint32(),
  transportSocket: string(),
});
export type EnvoyFilterListenerMatchFilterChainMatch = Infer<typeof envoyFilterListenerMatchFilterChainMatch>;

export const envoyFilterListenerMatch = object({
  portNumber: uint32(),
  portName: string(),
  filterChain: envoyFilterListenerMatchFilterChainMatch,
  listenerFilter: string(),
  name: string(),
});
export type EnvoyFilterListenerMatch = Infer<typeof envoyFilterListenerMatch>;

export const envoyFilterRouteConfigurationMatchRouteMatch = object({
  name: string(),
  action: enumOf(["ANY", "ROUTE", "REDIRECT", "DIRECT_RESPONSE"]),
});
export type EnvoyFilterRouteConfigurationMatchRouteMatch = Infer<typeof envoyFilterRouteConfigurationMatchRouteMatch>;

export const envoyFilterRouteConfigurationMatchVirtualHostMatch = object({
  name: string(),
  domainName: string(),
  route: envoyFilterRouteConfigurationMatchRouteMatch,
});
export type EnvoyFilterRouteConfigurationMatchVirtualHostMatch = Infer<
  typeof envoyFilterRouteConfigurationMatchVirtualHostMatch
>;

export const envoyFilterRouteConfigurationMatch = object({
  portNumber: uint32(),
  portName: string(),
  gateway: string(),
  vhost: envoyFilterRouteConfigurationMatchVirtualHostMatch,
  name: string(),
});
export type EnvoyFilterRouteConfigurationMatch = Infer<typeof envoyFilterRouteConfigurationMatch>;

export const envoyFilterClusterMatch = object({
  portNumber: uint32(),
  service: string(),
  subset: string(),
  name: string(),
});
export type EnvoyFilterClusterMatch = Infer<typeof envoyFilterClusterMatch>;

export const envoyFilterWaypointMatchRouteMatch = object({ name: string() });
export type EnvoyFilterWaypointMatchRouteMatch = Infer<typeof envoyFilterWaypointMatchRouteMatch>;

export const envoyFilterWaypointMatchFilterMatchSubFilterMatch = object({ name: string() });
export type EnvoyFilterWaypointMatchFilterMatchSubFilterMatch = Infer<
  typeof envoyFilterWaypointMatchFilterMatchSubFilterMatch
>;

export const envoyFilterWaypointMatchFilterMatch = object({
  name: string(),
  subFilter: envoyFilterWaypointMatchFilterMatchSubFilterMatch,
});
export type EnvoyFilterWaypointMatchFilterMatch = Infer<typeof envoyFilterWaypointMatchFilterMatch>;

export const envoyFilterWaypointMatch = object({
  portNumber: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
  route: envoyFilterWaypointMatchRouteMatch,
  filter: envoyFilterWaypointMatchFilterMatch,
});
export type EnvoyFilterWaypointMatch = Infer<typeof envoyFilterWaypointMatch>;

export const envoyFilterEnvoyConfigObjectMatch = object(
  {
    context: enumOf(["ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY", "WAYPOINT"]),
    proxy: envoyFilterProxyMatch,
    listener: envoyFilterListenerMatch,
    routeConfiguration: envoyFilterRouteConfigurationMatch,
    cluster: envoyFilterClusterMatch,
    waypoint: envoyFilterWaypointMatch,
  },
  {
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

export const envoyFilterPatch = object({
  operation: enumOf([
    "INVALID",
    "MERGE",
    "ADD",
    "REMOVE",
    "INSERT_BEFORE",
    "INSERT_AFTER",
    "INSERT_FIRST",
    "REPLACE",
    "MERGE_AND_REPLACE_LIST",
  ]),
  value: struct(),
  filterClass: enumOf(["UNSPECIFIED", "AUTHN", "AUTHZ", "STATS"]),
});
export type EnvoyFilterPatch = Infer<typeof envoyFilterPatch>;

export const envoyFilterEnvoyConfigObjectPatch = object({
  applyTo: enumOf([
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
  ]),
  match: envoyFilterEnvoyConfigObjectMatch,
  patch: envoyFilterPatch,
});
export type EnvoyFilterEnvoyConfigObjectPatch = Infer<typeof envoyFilterEnvoyConfigObjectPatch>;

export const envoyFilterSpec = object(
  {
    workloadSelector: sidecarWorkloadSelector,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    configPatches: array(envoyFilterEnvoyConfigObjectPatch),
    priority: int32(),
  },
  {
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
