/** Resolves the requested host when it is asked for: wildcard hosts with resolution DYNAMIC_DNS, and ALLOW_ANY_DYNAMIC_DNS. */

import { create } from "@bufbuild/protobuf";
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import {
  type DnsCacheConfig,
  DnsCacheConfigSchema,
} from "../../gen/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache_pb.js";
import { FilterConfigSchema } from "../../gen/envoy/extensions/filters/http/dynamic_forward_proxy/v3/dynamic_forward_proxy_pb.js";
import { FilterConfigSchema as SniFilterConfigSchema } from "../../gen/envoy/extensions/filters/network/sni_dynamic_forward_proxy/v3/sni_dynamic_forward_proxy_pb.js";
import { CaresDnsResolverConfigSchema } from "../../gen/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb.js";
import type { BuildFacet } from "../../model/index.ts";
import { socket } from "../build/address.ts";
import { packAny } from "../build/any.ts";
import { lookupFamily } from "../build/dns.ts";
import type { Fields } from "../build/fields.ts";
import { httpFilter } from "../build/http-filter.ts";
import { networkFilter } from "../build/listener-chain.ts";
import { outboundPolicy } from "../outbound/policy.ts";
import type { HttpFilterPass } from "./http-filter.ts";

export const dynamicForwardProxy: HttpFilterPass = ({ view, direction, dynamicHost }) => {
  if (direction !== "outbound") return [];
  const caches: DnsCacheConfig[] = [];
  if (dynamicHost !== undefined) caches.push(hostDnsCache(view.proxy, dynamicHost));
  if (outboundPolicy(view).mode === "ALLOW_ANY_DYNAMIC_DNS") caches.push(anyHostDnsCache(view.proxy));
  return caches.map((cache) =>
    httpFilter(
      "envoy.filters.http.dynamic_forward_proxy",
      packAny(FilterConfigSchema, { implementationSpecifier: { case: "dnsCacheConfig", value: cache } }),
    ),
  );
};

/** The same for TLS that is not terminated: by SNI. */
export function sniDynamicForwardProxy(proxy: BuildFacet, host: string, port: number): Filter {
  return networkFilter(
    "envoy.extensions.filters.network.sni_dynamic_forward_proxy",
    packAny(SniFilterConfigSchema, {
      dnsCacheConfig: hostDnsCache(proxy, host),
      portSpecifier: { case: "portValue", value: port },
    }),
  );
}

/** Envoy shares caches by name, so cluster and filter must describe the same one. */
export function hostDnsCache(proxy: BuildFacet, host: string): DnsCacheConfig {
  return create(DnsCacheConfigSchema, { name: `${host}_dfp_dns_cache`, dnsLookupFamily: lookupFamily(proxy) });
}

/** Asks the agent's DNS proxy where the application does. */
export function anyHostDnsCache(proxy: BuildFacet): DnsCacheConfig {
  const resolver: Fields<typeof DnsCacheConfigSchema>["typedDnsResolverConfig"] = {
    name: "envoy.network.dns_resolver.cares",
    typedConfig: packAny(CaresDnsResolverConfigSchema, { resolvers: [socket("127.0.0.1", 15053)] }),
  };
  return create(DnsCacheConfigSchema, {
    name: "allow_any_dfp_dns_cache",
    maxHosts: 1024,
    dnsLookupFamily: lookupFamily(proxy),
    ...(proxy.metadata.DNS_CAPTURE === "true" ? { typedDnsResolverConfig: resolver } : {}),
  });
}
