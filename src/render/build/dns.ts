/** A proxy's IP families in; how Envoy asks DNS for a cluster's endpoints out. */
import { Cluster_DnsLookupFamily, type ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { CaresDnsResolverConfigSchema } from "../../gen/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb.js";
import type { BuildFacet, MeshConfigSpec } from "../../model/index.ts";
import { packAny } from "./any.ts";
import { duration, milliseconds } from "./duration.ts";
import type { Fields } from "./fields.ts";

/** A resolver is replaced after so many queries, so that one whose server has moved is not kept for ever. */
const maxQueries = 100;
const jitterMs = 100;

/** With both families Istio asks for IPv4, unless dual stack was turned on for the whole mesh. */
export function lookupFamily(proxy: BuildFacet): Cluster_DnsLookupFamily {
  return proxy.ipv6 && !proxy.ipv4 ? Cluster_DnsLookupFamily.V6_ONLY : Cluster_DnsLookupFamily.V4_ONLY;
}

/** `race`: all addresses of both families are tried at once. */
export function dnsSettings(proxy: BuildFacet, settings: MeshConfigSpec, race: boolean): Fields<typeof ClusterSchema> {
  return {
    dnsLookupFamily: race ? Cluster_DnsLookupFamily.ALL : lookupFamily(proxy),
    typedDnsResolverConfig: {
      name: "envoy.network.dns_resolver.cares",
      typedConfig: packAny(CaresDnsResolverConfigSchema, { udpMaxQueries: maxQueries }),
    },
    dnsJitter: milliseconds(jitterMs),
    dnsRefreshRate: duration(settings.dnsRefreshRate),
    respectDnsTtl: true,
  };
}
