/**
 * VirtualServices as written in; those out that route for the mesh only hosts of their own namespace (R41). An option:
 * Istio lets any namespace route any host. What they say to gateways stays as it is, and the root namespace may do all.
 */
import type { Collection, Graph } from "../collections/index.ts";
import type { Config, VirtualServiceSpec } from "../model/index.ts";

export interface OwnHostsOptions {
  readonly domain: string;
  rootNamespace(): string;
  /** Of every Service and ServiceEntry with this host. */
  namespacesOfHost(host: string): readonly string[];
}

export function ownHostsOnly(
  graph: Graph,
  virtualServices: Collection<Config<VirtualServiceSpec>>,
  options: OwnHostsOptions,
): Collection<Config<VirtualServiceSpec>> {
  return graph.derive("routes of own hosts", virtualServices, (config, key) => {
    const { meta, spec } = config;
    const gateways = spec.gateways?.length ? spec.gateways : ["mesh"];
    const isOwn = (host: string): boolean => belongsTo(options, meta.namespace, host);
    if (!gateways.includes("mesh") || meta.namespace === options.rootNamespace() || (spec.hosts ?? []).every(isOwn))
      return [[key, config]];
    const rest = gateways.filter((name) => name !== "mesh");
    return rest.length === 0 ? [] : [[key, { ...config, spec: { ...spec, gateways: rest } }]];
  });
}

/** A host that nobody has is nobody's traffic; a pattern may be anybody's. */
function belongsTo({ domain, namespacesOfHost }: OwnHostsOptions, namespace: string, host: string): boolean {
  if (host.startsWith("*")) return host.endsWith(`.${namespace}.svc.${domain}`);
  if (!host.includes(".")) return true;
  const owners = namespacesOfHost(host);
  return owners.length === 0 ? !isOfOther(host, namespace, domain) : owners.includes(namespace);
}

/** `name.namespace`, `name.namespace.svc` and the like, of a Service that may yet come. */
function isOfOther(host: string, namespace: string, domain: string): boolean {
  const [, of, service] = host.split(".");
  const isService = host.endsWith(`.svc.${domain}`) || service === "svc" || service === undefined;
  return isService && of !== namespace;
}
