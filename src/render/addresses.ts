/** A proxy's IP families in; the addresses that its listeners bind to, and the address of a service as it sees it, out. */
import { isIPv4, isIPv6 } from "node:net";
import type { ProxyClass, Service } from "../model/index.ts";

const wildcard4 = "0.0.0.0";
const wildcard6 = "::";

/** First the one that names listeners; a second only for a proxy with both families. */
export function wildcards(proxy: ProxyClass): readonly [string, ...string[]] {
  if (proxy.ipv4 && proxy.ipv6) return [wildcard4, wildcard6];
  return proxy.ipv6 ? [wildcard6] : [wildcard4];
}

export function localhosts(proxy: ProxyClass): readonly [string, ...string[]] {
  if (proxy.ipv4 && proxy.ipv6) return ["127.0.0.1", "::1"];
  return proxy.ipv6 ? ["::1"] : ["127.0.0.1"];
}

export const isWildcardAddress = (address: string): boolean => address === wildcard4 || address === wildcard6;

/**
 * Where a proxy finds a service: each entry is one place, its further addresses those of the other family. A
 * ServiceEntry's addresses are places of their own (Istio makes a service of each); a Service's cluster IPs are one.
 */
export function servicePlaces(proxy: ProxyClass, service: Service): readonly (readonly [string, ...string[]])[] {
  if (service.registry === "External" && service.addresses.length > 0) {
    return service.addresses.map((address) => [address]);
  }
  const usable = service.addresses.filter((address) => supports(proxy, address));
  const [first, ...rest] = usable.length > 0 ? usable : autoAddresses(proxy, service);
  if (first !== undefined) return [[first, ...rest]];
  return [unspecified(proxy, service)];
}

/** Allocated addresses mean something only to proxies that answer DNS themselves. */
function autoAddresses(proxy: ProxyClass, service: Service): readonly string[] {
  if (proxy.metadata.DNS_CAPTURE !== "true" || service.addresses.length > 0) return [];
  return service.autoAddresses.filter((address) => supports(proxy, address));
}

/** Names alone do not tell the family, so an external service follows the proxy's; a headless Service counts as IPv4. */
function unspecified(proxy: ProxyClass, service: Service): readonly [string, ...string[]] {
  const [own] = service.addresses;
  if (own !== undefined) return [own];
  return service.registry === "External" ? wildcards(proxy) : [wildcard4];
}

function supports(proxy: ProxyClass, address: string): boolean {
  const host = address.split("/")[0] ?? "";
  return (proxy.ipv4 && isIPv4(host)) || (proxy.ipv6 && isIPv6(host));
}
