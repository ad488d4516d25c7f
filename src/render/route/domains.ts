/** A service as a proxy sees it in, every name under which requests for it arrive out. */
import { isIP } from "node:net";
import type { BuildFacet, Service } from "../../model/index.ts";
import { isWildcardAddress, servicePlaces } from "../proxy/addresses.ts";

/** IPv6 addresses go in brackets. */
export function hostPort(host: string, port: number): string {
  return `${bracketed(host)}:${port}`;
}

export const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** Envoy refuses a configuration with such a name in it. */
export const isUsableDomain = (host: string): boolean => !/[\0\r\n]/.test(host);

export interface DomainOptions {
  readonly domain: string;
  /** Of the client: in its own namespace a service has a bare name too. */
  readonly namespace: string;
  /** Names of ExternalName Services that stand for this one. */
  readonly aliases: readonly string[];
  /** With a port each name is there twice, bare and with it: for listeners that serve all ports. */
  readonly port: number | undefined;
}

export interface Domains {
  readonly names: readonly string[];
  /** Those that were made by shortening or lengthening: they give way to another host of that very name. */
  readonly variants: ReadonlySet<string>;
}

export function serviceDomains(proxy: BuildFacet, service: Service, options: DomainOptions): Domains {
  const { port } = options;
  const withPort = (name: string): string[] =>
    port === undefined ? [bracketed(name)] : [bracketed(name), hostPort(name, port)];
  const names: string[] = [];
  const variants = new Set<string>();
  for (const host of [service.host, ...options.aliases]) {
    const other = nameVariants(host, options.namespace, options.domain).flatMap(withPort);
    names.push(...withPort(host), ...other);
    for (const name of other) variants.add(name);
  }
  // Pods of a headless Service have names below that of the Service.
  if (service.resolution === "passthrough" && service.registry === "Kubernetes")
    names.push(...names.map((name) => `*.${name}`));
  names.push(...domainAddresses(proxy, service).flatMap(withPort));
  return { names, variants };
}

/**
 * With the final dot of an absolute name, and, for Kubernetes services, the forms that search domains allow: in the
 * service's own namespace the bare name too.
 */
export function nameVariants(host: string, namespace: string, domain: string): readonly string[] {
  const absolute = isIP(host) === 0 ? [`${host}.`] : [];
  const own = kubernetesName(host, domain);
  if (!own) return absolute;
  const qualified = `${own.name}.${own.namespace}`;
  if (own.namespace === namespace) return [...absolute, own.name, `${qualified}.svc`, qualified];
  return [...absolute, qualified, `${qualified}.svc`];
}

/** The namespace from which a host has a bare name, and that name; undefined for hosts without one. */
export function kubernetesName(
  host: string,
  domain: string,
): { readonly name: string; readonly namespace: string } | undefined {
  if (!host.endsWith(`.svc.${domain}`)) return undefined;
  const qualified = host.slice(0, host.indexOf(".svc."));
  const dot = qualified.indexOf(".");
  return dot < 0 ? undefined : { name: qualified.slice(0, dot), namespace: qualified.slice(dot + 1) };
}

/** Of a ServiceEntry's addresses Istio takes the last alone; of a Service's those of the first one's family. */
function domainAddresses(proxy: BuildFacet, service: Service): readonly string[] {
  const place = servicePlaces(proxy, service).at(-1) ?? [];
  const family = isIP(place[0] ?? "");
  // A cluster IP of a family that the proxy lacks cannot be reached, and so is no name.
  if (service.registry === "Kubernetes" && !(family === 4 ? proxy.ipv4 : proxy.ipv6)) return [];
  return place.filter((address) => !isWildcardAddress(address) && isIP(address) === family);
}
