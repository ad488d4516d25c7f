/** Rule, service and mesh config in; which endpoints a client prefers by place, out. */
import type {
  LoadBalancerSettings,
  LocalityLoadBalancerSetting,
  MeshConfigSpec,
  Service,
  ZoneAwareLoadBalancerSetting,
} from "../../model/index.ts";

export type LocalityPolicy =
  | { readonly kind: "none" }
  /** `always`: failover does not depend on outlier detection. */
  | { readonly kind: "locality"; readonly setting: LocalityLoadBalancerSetting; readonly always: boolean }
  | { readonly kind: "zone-aware"; readonly setting: ZoneAwareLoadBalancerSetting };

export const topology = {
  network: "topology.istio.io/network",
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  subZone: "topology.istio.io/subzone",
  cluster: "topology.istio.io/cluster",
  node: "kubernetes.io/hostname",
} as const;

const sameZone = [topology.network, topology.region, topology.zone];
const sameNode = [...sameZone, topology.subZone, topology.node];

/** What a Service's `trafficDistribution` asks for, in the words of failover priorities. */
const distributions: ReadonlyMap<Service["trafficDistribution"], readonly string[]> = new Map([
  ["prefer-close", sameZone],
  ["prefer-same-zone", sameZone],
  ["prefer-same-node", sameNode],
]);

export function prefersClose(service: Service): boolean {
  return distributions.has(service.trafficDistribution);
}

/** The rule first, then the service, then the mesh; within each, zone-aware first. A level that says no ends the search. */
export function localityPolicy(
  settings: MeshConfigSpec,
  loadBalancer: LoadBalancerSettings | undefined,
  service: Service,
): LocalityPolicy {
  return (
    levelPolicy(loadBalancer?.zoneAwareLbSetting, loadBalancer?.localityLbSetting) ??
    distributionPolicy(service) ??
    levelPolicy(settings.zoneAwareLbSetting, settings.localityLbSetting) ?? { kind: "none" }
  );
}

function levelPolicy(
  zoneAware: ZoneAwareLoadBalancerSetting | undefined,
  locality: LocalityLoadBalancerSetting | undefined,
): LocalityPolicy | undefined {
  if (zoneAware) return { kind: "zone-aware", setting: zoneAware };
  if (!locality) return undefined;
  return locality.enabled === false ? { kind: "none" } : { kind: "locality", setting: locality, always: false };
}

function distributionPolicy(service: Service): LocalityPolicy | undefined {
  const failoverPriority = distributions.get(service.trafficDistribution);
  return failoverPriority && { kind: "locality", setting: { failoverPriority }, always: true };
}

/** Whether where the client is makes a difference. */
export function dependsOnPlace(policy: LocalityPolicy, hasOutlierDetection: boolean): boolean {
  if (policy.kind === "none") return false;
  if (policy.kind === "zone-aware") return policy.setting.enabled !== false;
  return hasAny(policy.setting.distribute) || policy.always || hasOutlierDetection;
}

/** Weighing by locality disturbs other balancers, so it is turned on only where places were spelled out. */
export function weighsLocalities(policy: LocalityPolicy, hasOutlierDetection: boolean): boolean {
  if (policy.kind !== "locality") return false;
  const { distribute, failover, failoverPriority } = policy.setting;
  if (hasAny(distribute)) return true;
  return (policy.always || hasOutlierDetection) && (hasAny(failover) || hasAny(failoverPriority));
}

export function hasAny(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}
