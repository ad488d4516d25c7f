/** Load balancing of a destination. */
import { array, boolean, double, duration, enumOf, type Infer, map, object, string, uint32, uint64 } from "./schema.ts";

const loadBalancerSettingsConsistentHashLBHTTPCookieAttribute = object(
  { name: string(), value: string() },
  { proto: "istio.networking.v1alpha3.LoadBalancerSettings.ConsistentHashLB.HTTPCookie.Attribute", required: ["name"] },
);
export type LoadBalancerSettingsConsistentHashLBHTTPCookieAttribute = Infer<
  typeof loadBalancerSettingsConsistentHashLBHTTPCookieAttribute
>;

const loadBalancerSettingsConsistentHashLBHTTPCookie = object(
  {
    name: string(),
    path: string(),
    ttl: duration({ rules: [] }),
    attributes: array(loadBalancerSettingsConsistentHashLBHTTPCookieAttribute),
  },
  { proto: "istio.networking.v1alpha3.LoadBalancerSettings.ConsistentHashLB.HTTPCookie", required: ["name"] },
);
export type LoadBalancerSettingsConsistentHashLBHTTPCookie = Infer<
  typeof loadBalancerSettingsConsistentHashLBHTTPCookie
>;

const loadBalancerSettingsConsistentHashLBRingHash = object(
  { minimumRingSize: uint64() },
  { proto: "istio.networking.v1alpha3.LoadBalancerSettings.ConsistentHashLB.RingHash" },
);
export type LoadBalancerSettingsConsistentHashLBRingHash = Infer<typeof loadBalancerSettingsConsistentHashLBRingHash>;

const loadBalancerSettingsConsistentHashLBMagLev = object(
  { tableSize: uint64() },
  { proto: "istio.networking.v1alpha3.LoadBalancerSettings.ConsistentHashLB.MagLev" },
);
export type LoadBalancerSettingsConsistentHashLBMagLev = Infer<typeof loadBalancerSettingsConsistentHashLBMagLev>;

const loadBalancerSettingsConsistentHashLB = object(
  {
    httpHeaderName: string(),
    httpCookie: loadBalancerSettingsConsistentHashLBHTTPCookie,
    useSourceIp: boolean(),
    httpQueryParameterName: string(),
    ringHash: loadBalancerSettingsConsistentHashLBRingHash,
    maglev: loadBalancerSettingsConsistentHashLBMagLev,
    minimumRingSize: uint64(),
  },
  {
    proto: "istio.networking.v1alpha3.LoadBalancerSettings.ConsistentHashLB",
    oneOf: [
      ["httpHeaderName", "httpCookie", "useSourceIp", "httpQueryParameterName"],
      ["ringHash", "maglev"],
    ],
  },
);
export type LoadBalancerSettingsConsistentHashLB = Infer<typeof loadBalancerSettingsConsistentHashLB>;

const localityLoadBalancerSettingDistribute = object(
  { from: string(), to: map(uint32()) },
  { proto: "istio.networking.v1alpha3.LocalityLoadBalancerSetting.Distribute" },
);
export type LocalityLoadBalancerSettingDistribute = Infer<typeof localityLoadBalancerSettingDistribute>;

const localityLoadBalancerSettingFailover = object(
  { from: string(), to: string() },
  { proto: "istio.networking.v1alpha3.LocalityLoadBalancerSetting.Failover" },
);
export type LocalityLoadBalancerSettingFailover = Infer<typeof localityLoadBalancerSettingFailover>;

export const localityLoadBalancerSetting = object(
  {
    distribute: array(localityLoadBalancerSettingDistribute),
    failover: array(localityLoadBalancerSettingFailover),
    failoverPriority: array(string()),
    enabled: boolean({ nullable: true }),
  },
  { proto: "istio.networking.v1alpha3.LocalityLoadBalancerSetting" },
);
export type LocalityLoadBalancerSetting = Infer<typeof localityLoadBalancerSetting>;

const zoneAwareLoadBalancerSettingFailover = object(
  { from: string(), to: string() },
  { proto: "istio.networking.v1alpha3.ZoneAwareLoadBalancerSetting.Failover" },
);
export type ZoneAwareLoadBalancerSettingFailover = Infer<typeof zoneAwareLoadBalancerSettingFailover>;

export const zoneAwareLoadBalancerSetting = object(
  {
    enabled: boolean({ nullable: true }),
    failover: array(zoneAwareLoadBalancerSettingFailover),
    failoverPriority: array(string()),
    minClusterSize: uint64({ nullable: true, minimum: 1, maximum: 4294967295 }),
  },
  { proto: "istio.networking.v1alpha3.ZoneAwareLoadBalancerSetting" },
);
export type ZoneAwareLoadBalancerSetting = Infer<typeof zoneAwareLoadBalancerSetting>;

const warmupConfiguration = object(
  {
    duration: duration(),
    minimumPercent: double({ nullable: true, minimum: 0, maximum: 100 }),
    aggression: double({ nullable: true, minimum: 0 }),
  },
  { proto: "istio.networking.v1alpha3.WarmupConfiguration", required: ["duration"] },
);
export type WarmupConfiguration = Infer<typeof warmupConfiguration>;

const loadBalancerSettingsBackendUtilization = object({
  errorUtilizationPenaltyPercent: uint32(),
  metricNamesForComputingUtilization: array(string()),
  weightExpirationPeriod: duration({ rules: [] }),
  weightStabilizationPeriod: duration({ rules: [] }),
  weightUpdatePeriod: duration({ rules: [] }),
});
export type LoadBalancerSettingsBackendUtilization = Infer<typeof loadBalancerSettingsBackendUtilization>;

export const loadBalancerSettings = object(
  {
    simple: enumOf(["UNSPECIFIED", "LEAST_CONN", "RANDOM", "PASSTHROUGH", "ROUND_ROBIN", "LEAST_REQUEST"], {
      proto: "istio.networking.v1alpha3.LoadBalancerSettings.SimpleLB",
    }),
    consistentHash: loadBalancerSettingsConsistentHashLB,
    localityLbSetting: localityLoadBalancerSetting,
    zoneAwareLbSetting: zoneAwareLoadBalancerSetting,
    warmupDurationSecs: duration(),
    warmup: warmupConfiguration,
    backendUtilization: loadBalancerSettingsBackendUtilization,
  },
  {
    proto: "istio.networking.v1alpha3.LoadBalancerSettings",
    oneOf: [["simple", "consistentHash", "backendUtilization"]],
  },
);
export type LoadBalancerSettings = Infer<typeof loadBalancerSettings>;
