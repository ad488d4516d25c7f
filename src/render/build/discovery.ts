/** How a cluster's endpoints are found in; the fields that tell Envoy so, out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Cluster_DiscoveryType, type ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { ApiVersion, ConfigSourceSchema } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { ClusterConfigSchema } from "../../gen/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster_pb.js";
import type { DnsCacheConfigSchema } from "../../gen/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache_pb.js";
import { packAny } from "./any.ts";
import { seconds } from "./duration.ts";
import type { Fields } from "./fields.ts";

type ClusterInit = Fields<typeof ClusterSchema>;

/** Envoy waits for endpoints without end: a cluster without them would answer 503. */
const ads = create(ConfigSourceSchema, {
  configSourceSpecifier: { case: "ads", value: {} },
  initialFetchTimeout: seconds(0),
  resourceApiVersion: ApiVersion.V3,
});

export function edsDiscovery(name: string, edsConfig = ads): ClusterInit {
  return {
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { serviceName: name, edsConfig },
  };
}

export function discoveryType(value: Cluster_DiscoveryType): ClusterInit {
  return { clusterDiscoveryType: { case: "type", value } };
}

/** Envoy resolves the requested host itself; the cache is shared by name with the filter that asks for it. */
export function dynamicDiscovery(
  dnsCacheConfig: MessageInitShape<typeof DnsCacheConfigSchema>,
  allowInsecureClusterOptions: boolean,
): ClusterInit {
  const typedConfig = packAny(ClusterConfigSchema, {
    clusterImplementationSpecifier: { case: "dnsCacheConfig", value: dnsCacheConfig },
    allowInsecureClusterOptions,
  });
  return {
    clusterDiscoveryType: {
      case: "clusterType",
      value: { name: "envoy.clusters.dynamic_forward_proxy", typedConfig },
    },
  };
}
