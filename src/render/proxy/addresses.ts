/** A proxy's IP families in; the addresses that its listeners bind to, and the address of a service as it sees it, out. */
import { isIP } from "node:net";
import type { BuildFacet, Service } from "../../model/index.ts";

const wildcard4 = "0.0.0.0";
const wildcard6 = "::";

/** First the one that names listeners; a second only for a proxy with both families. */
export function wildcards(proxy: BuildFacet): readonly [string, ...string[]] {
  if (proxy.ipv4 && proxy.ipv6) return [wildcard4, wildcard6];
  return proxy.ipv6 ? [wildcard6] : [wildcard4];
}

export function localhosts(proxy: BuildFacet): readonly [string, ...string[]] {
  if (proxy.ipv4 && proxy.ipv6) return ["127.0.0.1", "::1"];
  return proxy.ipv6 ? ["::1"] : ["127.0.0.1"];
}

/** Envoy refuses a listener at what is no address or no port; a Unix socket has no port. */
export function canListen(bind: string, port: number): boolean {
  return bind.startsWith("unix://") || (isIP(bind) !== 0 && port >= 1 && port <= 65535);
}

export const isWildcardAddress = (address: string): boolean => address === wildcard4 || address === wildcard6;

/**
 * Where a proxy finds a service: each entry is one place with all its addresses. A
 * ServiceEntry's addresses are places of their own (Istio makes a service of each); a Service's cluster IPs are one.
 */
export function servicePlaces(proxy: BuildFacet, service: Service): readonly (readonly [string, ...string[]])[] {
  if (service.registry === "External" && service.addresses.length > 0) {
    return service.addresses.map((address) => [address]);
  }
  const usable = ofOneFamily(proxy, service.addresses);
  const [first, ...rest] = usable.length > 0 ? usable : autoAddresses(proxy, service);
  if (first !== undefined) return [[first, ...rest]];
  return [unspecified(proxy, service)];
}

/** Allocated addresses mean something only to proxies that answer DNS themselves. */
function autoAddresses(proxy: BuildFacet, service: Service): readonly string[] {
  if (proxy.metadata.DNS_CAPTURE !== "true" || service.addresses.length > 0) return [];
  return ofOneFamily(proxy, service.autoAddresses);
}

/** Names alone do not tell the family, so an external service follows the proxy's; a headless Service counts as IPv4. */
function unspecified(proxy: BuildFacet, service: Service): readonly [string, ...string[]] {
  const [own] = service.addresses;
  if (own !== undefined) return [own];
  return service.registry === "External" ? wildcards(proxy) : [wildcard4];
}

/** Of the family of the first address that the proxy can use: Istio's dual stack is off unless switched on. */
function ofOneFamily(proxy: BuildFacet, addresses: readonly string[]): readonly string[] {
  const usable = addresses.filter((address) => supports(proxy, address));
  return usable.filter((address) => familyOf(address) === familyOf(usable[0] ?? ""));
}

const familyOf = (address: string): number => isIP(address.split("/")[0] ?? "");

const supports = (proxy: BuildFacet, address: string): boolean =>
  (proxy.ipv4 && familyOf(address) === 4) || (proxy.ipv6 && familyOf(address) === 6);
