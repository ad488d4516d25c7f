/** A policy's load balancer in; the algorithm of a cluster and its settings out. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type Cluster_CommonLbConfigSchema,
  Cluster_LbPolicy,
  type Cluster_SlowStartConfigSchema,
  type ClusterSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type {
  LoadBalancerSettings,
  LoadBalancerSettingsConsistentHashLB,
  WarmupConfiguration,
} from "../../model/index.ts";
import { duration } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { type LocalityPolicy, weighsLocalities } from "./locality.ts";

type ClusterInit = Fields<typeof ClusterSchema>;
type LocalityConfig = NonNullable<MessageInitShape<typeof Cluster_CommonLbConfigSchema>["localityConfigSpecifier"]>;

export interface LoadBalancer {
  readonly lbPolicy: Cluster_LbPolicy;
  readonly lbConfig?: NonNullable<ClusterInit["lbConfig"]>;
}

/** Envoy's own name for no runtime override; Istio's API has no word for it. */
const noRuntimeKey = "(";
const defaultRingSize = 1024n;
const defaultAggression = 1;
const defaultMinimumPercent = 10;
/** Envoy's limit. */
const maxTableSize = 5_000_011;

/** For clusters that choose among endpoints; the others are `CLUSTER_PROVIDED`. */
export function loadBalancer(settings: LoadBalancerSettings | undefined): LoadBalancer {
  if (settings?.consistentHash) return consistentHash(settings.consistentHash);
  switch (settings?.simple) {
    case "RANDOM":
      return { lbPolicy: Cluster_LbPolicy.RANDOM };
    case "ROUND_ROBIN":
      return {
        lbPolicy: Cluster_LbPolicy.ROUND_ROBIN,
        ...slowStart(settings, (value) => ({ case: "roundRobinLbConfig", value })),
      };
    default:
      return {
        lbPolicy: Cluster_LbPolicy.LEAST_REQUEST,
        ...slowStart(settings, (value) => ({ case: "leastRequestLbConfig", value })),
      };
  }
}

function consistentHash(hash: LoadBalancerSettingsConsistentHashLB): LoadBalancer {
  if (hash.maglev) {
    const lbPolicy = Cluster_LbPolicy.MAGLEV;
    const tableSize = isPrime(hash.maglev.tableSize ?? 0) ? wide(hash.maglev.tableSize) : undefined;
    return tableSize === undefined
      ? { lbPolicy }
      : { lbPolicy, lbConfig: { case: "maglevLbConfig", value: { tableSize } } };
  }
  const lbPolicy = Cluster_LbPolicy.RING_HASH;
  // The older field has a default; a ring hash without a size leaves it to Envoy.
  const minimumRingSize = hash.ringHash
    ? wide(hash.ringHash.minimumRingSize)
    : (wide(hash.minimumRingSize) ?? defaultRingSize);
  return minimumRingSize === undefined
    ? { lbPolicy }
    : { lbPolicy, lbConfig: { case: "ringHashLbConfig", value: { minimumRingSize } } };
}

interface SlowStart {
  readonly slowStartConfig: MessageInitShape<typeof Cluster_SlowStartConfigSchema>;
}

function slowStart(
  settings: LoadBalancerSettings | undefined,
  config: (value: SlowStart) => NonNullable<ClusterInit["lbConfig"]>,
): { lbConfig?: NonNullable<ClusterInit["lbConfig"]> } {
  const { warmup, warmupDurationSecs } = settings ?? {};
  if (warmup) return { lbConfig: config({ slowStartConfig: slowStartConfig(warmup) }) };
  if (warmupDurationSecs === undefined) return {};
  return { lbConfig: config({ slowStartConfig: { slowStartWindow: duration(warmupDurationSecs) } }) };
}

function slowStartConfig(warmup: WarmupConfiguration): SlowStart["slowStartConfig"] {
  return {
    slowStartWindow: duration(warmup.duration),
    aggression: { defaultValue: warmup.aggression ?? defaultAggression, runtimeKey: noRuntimeKey },
    minWeightPercent: { value: warmup.minimumPercent ?? defaultMinimumPercent },
  };
}

export function localityConfig(policy: LocalityPolicy, hasOutlierDetection: boolean): LocalityConfig {
  if (policy.kind === "zone-aware") {
    const { enabled, minClusterSize } = policy.setting;
    return {
      case: "zoneAwareLbConfig",
      value: {
        ...(enabled === false ? { routingEnabled: { value: 0 } } : {}),
        ...(minClusterSize === undefined ? {} : { minClusterSize: BigInt(minClusterSize) }),
      },
    };
  }
  if (!weighsLocalities(policy, hasOutlierDetection)) return { case: undefined };
  return { case: "localityWeightedLbConfig", value: {} };
}

/** Envoy refuses a Maglev table of another size; then its own default holds. */
function isPrime(value: number): boolean {
  if (value < 2 || value > maxTableSize) return false;
  for (let divisor = 2; divisor * divisor <= value; divisor++) if (value % divisor === 0) return false;
  return true;
}

function wide(value: number | undefined): bigint | undefined {
  return value === undefined || value <= 0 ? undefined : BigInt(value);
}
