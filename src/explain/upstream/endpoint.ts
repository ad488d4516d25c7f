/** The endpoints of a cluster in; how likely each of them is taken out: by health, priority, locality and weight. */
import type { Cluster } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { HealthStatus } from "../../gen/envoy/config/core/v3/health_check_pb.js";
import type { LbEndpoint, LocalityLbEndpoints } from "../../gen/envoy/config/endpoint/v3/endpoint_components_pb.js";
import type { ClusterLoadAssignment } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { readAddress } from "../listener/listener-match.ts";
import { type Address, showAddress } from "../request.ts";
import type { Choice } from "../trace.ts";

export interface Endpoint extends Choice {
  /** Undefined for a name that is not resolved here, or a socket. */
  readonly address: Address | undefined;
  /** What `auto_host_rewrite` would put. */
  readonly hostname: string;
  readonly locality: string;
  readonly priority: number;
  readonly lb: LbEndpoint;
}

export interface EndpointOdds {
  readonly endpoints: readonly Endpoint[];
  readonly unhealthy: readonly string[];
  /** Too few are healthy: Envoy takes all. */
  readonly panic: boolean;
}

type Lb = Pick<Cluster, "commonLbConfig">;

const isHealthy = ({ healthStatus }: LbEndpoint): boolean =>
  healthStatus === HealthStatus.UNKNOWN || healthStatus === HealthStatus.HEALTHY;

export function endpointOdds(assignment: ClusterLoadAssignment | undefined, { commonLbConfig }: Lb): EndpointOdds {
  const groups = assignment?.endpoints ?? [];
  const factor = (assignment?.policy?.overprovisioningFactor ?? 140) / 100;
  const unhealthy = groups.flatMap(({ lbEndpoints }) =>
    lbEndpoints.filter((one) => !isHealthy(one)).map((one) => `${nameOf(one)} is not healthy`),
  );
  const priorities = [...new Set(groups.map(({ priority }) => priority))].sort((a, b) => a - b);
  const health = priorities.map((priority) =>
    Math.min(1, factor * healthyShare(groups.filter((group) => group.priority === priority))),
  );
  const total = Math.min(
    1,
    health.reduce((sum, one) => sum + one, 0),
  );
  const threshold = (commonLbConfig?.healthyPanicThreshold?.value ?? 50) / 100;
  // With nobody healthy Envoy tries everybody, unless that was turned off.
  const panic = total === 0 && groups.length > 0 && threshold > 0;
  const byLocality = commonLbConfig?.localityConfigSpecifier.case === "localityWeightedLbConfig";
  let left = 1;
  const endpoints = priorities.flatMap((priority, i) => {
    const share = panic ? (i === 0 ? 1 : 0) : total === 0 ? 0 : Math.min(left, (health[i] ?? 0) / total);
    left -= share;
    const own = groups.filter((group) => group.priority === priority);
    const drowned = panic || (total < 1 && healthyShare(own) < threshold);
    return ofPriority(own, share, { byLocality, factor, panic: drowned });
  });
  return { endpoints: endpoints.filter(({ odds }) => odds > 0), unhealthy, panic };
}

function healthyShare(groups: readonly LocalityLbEndpoints[]): number {
  const all = groups.flatMap(({ lbEndpoints }) => lbEndpoints);
  return all.length === 0 ? 0 : all.filter(isHealthy).length / all.length;
}

interface Sharing {
  readonly byLocality: boolean;
  readonly factor: number;
  readonly panic: boolean;
}

function ofPriority(
  groups: readonly LocalityLbEndpoints[],
  share: number,
  { byLocality, factor, panic }: Sharing,
): readonly Endpoint[] {
  const usable = ({ lbEndpoints }: LocalityLbEndpoints): readonly LbEndpoint[] =>
    panic ? lbEndpoints : lbEndpoints.filter(isHealthy);
  const weightOf = (group: LocalityLbEndpoints): number =>
    byLocality
      ? (group.loadBalancingWeight ?? 0) * Math.min(1, factor * (panic ? 1 : healthyShare([group])))
      : usable(group).reduce((sum, one) => sum + weight(one), 0);
  const total = groups.reduce((sum, group) => sum + weightOf(group), 0);
  return groups.flatMap((group) => {
    const members = usable(group);
    const inside = members.reduce((sum, one) => sum + weight(one), 0);
    return members.map((lb) =>
      endpointOf(
        lb,
        group,
        total === 0 || inside === 0 ? 0 : (share * (weightOf(group) / total) * weight(lb)) / inside,
      ),
    );
  });
}

const weight = ({ loadBalancingWeight }: LbEndpoint): number => loadBalancingWeight ?? 1;

function endpointOf(lb: LbEndpoint, { locality, priority }: LocalityLbEndpoints, odds: number): Endpoint {
  const host = lb.hostIdentifier.case === "endpoint" ? lb.hostIdentifier.value : undefined;
  const place = [locality?.region, locality?.zone, locality?.subZone].filter((word) => word).join("/");
  return {
    address: readAddress(host?.address)[0],
    label: nameOf(lb),
    hostname: host?.hostname || (readAddress(host?.address)[0]?.ip ?? ""),
    locality: place,
    priority,
    odds,
    lb,
  };
}

function nameOf({ hostIdentifier }: LbEndpoint): string {
  const address = hostIdentifier.case === "endpoint" ? hostIdentifier.value.address : undefined;
  const [found] = readAddress(address);
  if (found) return showAddress(found);
  if (address?.address.case === "envoyInternalAddress") return "an internal listener";
  return address?.address.case === "pipe" ? address.address.value.path : "unknown";
}
