/** The name of an outbound cluster in; what it stands for out: service, port, subset, rule, policy, and how endpoints are found. */
import type { MergedDestinationRule } from "../mesh/index.ts";
import {
  type DestinationSubset,
  isWildcard,
  objectName,
  type ProxyType,
  type Service,
  type ServicePort,
} from "../model/index.ts";
import { clientScope, ruleOf } from "./client-scope.ts";
import { type OutboundName, outboundCluster, sniCluster } from "./cluster-name.ts";
import { routesBySni } from "./gateway-servers.ts";
import { type EffectivePolicy, hostPolicy, subsetPolicy, withMeshDefaults } from "./traffic-policy/effective.ts";
import type { View } from "./view.ts";

type Discovery = "eds" | "strict-dns" | "logical-dns" | "original-dst" | "dynamic-forward-proxy";

export interface OutboundTarget {
  readonly name: string;
  readonly mode: OutboundName["mode"];
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: DestinationSubset | undefined;
  readonly rule: MergedDestinationRule | undefined;
  readonly effective: EffectivePolicy;
  /** How the endpoints are found by the service's nature: decides DNS settings and whether endpoints are needed. */
  readonly found: Discovery;
  /** The same after the policy: PASSTHROUGH sends to the original destination. */
  readonly discovery: Discovery;
}

/** Names of all outbound clusters of the proxy; `endpoints`: those whose endpoints are sent over EDS. */
export interface OutboundNames {
  readonly clusters: readonly string[];
  readonly endpoints: readonly string[];
}

export function outboundNames(view: View): OutboundNames {
  return view.shared("outbound-names", () => {
    const modes: readonly OutboundName["mode"][] = routesBySni(view) ? ["outbound", "sni-dnat"] : ["outbound"];
    const scope = clientScope(view);
    const targets = scope.services.flatMap((key) => {
      const service = scope.service(key);
      // Of several services with one host, the scope's choice has the clusters.
      if (!service || scope.serviceFor(service.host)?.key !== key) return [];
      return modes.flatMap((mode) => targetsOf(view, service, mode));
    });
    return {
      clusters: targets.map((target) => target.name),
      endpoints: targets.filter((target) => target.discovery === "eds").map((target) => target.name),
    };
  });
}

export function outboundTarget(view: View, name: OutboundName): OutboundTarget | undefined {
  const scope = clientScope(view);
  const service = scope.serviceFor(name.host);
  const port = service?.ports.find((candidate) => candidate.port === name.port);
  if (!service || !port || !isServed(service, port, name.mode)) return undefined;
  if (name.mode === "sni-dnat" && !routesBySni(view)) return undefined;
  const rule = ruleOf(view, service.key);
  return resolve(view, service, port, rule, name.mode, name.subset);
}

function targetsOf(view: View, service: Service, mode: OutboundName["mode"]): readonly OutboundTarget[] {
  const ports = service.ports.filter((port) => isServed(service, port, mode));
  if (ports.length === 0) return [];
  const rule = ruleOf(view, service.key);
  const subsets = isDynamic(service, mode) ? [] : (rule?.spec.subsets ?? []).map((subset) => subset.name ?? "");
  const names = [...new Set(["", ...subsets])];
  return ports.flatMap((port) => names.flatMap((subset) => resolve(view, service, port, rule, mode, subset) ?? []));
}

function resolve(
  view: View,
  service: Service,
  port: ServicePort,
  rule: MergedDestinationRule | undefined,
  mode: OutboundName["mode"],
  subsetName: string,
): OutboundTarget | undefined {
  const subset = subsetName === "" ? undefined : rule?.spec.subsets?.find((entry) => entry.name === subsetName);
  if (subsetName !== "" && subset === undefined) return undefined;
  const host = withMeshDefaults(hostPolicy(rule?.spec, port.port), view.mesh.settings());
  const effective = subset ? subsetPolicy(host, rule?.spec, port.port, subsetName) : host;
  const nature = discoveryOf(view.proxy.type, service, mode);
  const found = subset ? subsetDiscovery(passThrough(nature, host), subset) : nature;
  const name = mode === "outbound" ? outboundCluster : sniCluster;
  return {
    name: name(service.host, port.port, subsetName),
    mode,
    service,
    port,
    subset,
    rule,
    effective,
    found,
    discovery: passThrough(found, effective),
  };
}

/** Whether there is a cluster for the port. Envoy's dynamic forward proxy knows only protocols that carry the host's name. */
function isServed(service: Service, port: ServicePort, mode: OutboundName["mode"]): boolean {
  if (service.resolution === "alias" || port.protocol === "UDP") return false;
  if (mode === "sni-dnat") return !service.meshExternal;
  return !isDynamic(service, mode) || ["HTTP", "TLS", "GRPC", "HTTP2"].includes(port.protocol);
}

/** A gateway that passes TLS through sends to known endpoints only. */
function isDynamic(service: Service, mode: OutboundName["mode"]): boolean {
  return service.resolution === "dynamic-dns" && isWildcard(service.host) && mode === "outbound";
}

function discoveryOf(proxy: ProxyType, service: Service, mode: OutboundName["mode"]): Discovery {
  switch (service.resolution) {
    case "dns":
      return racesAddresses(service) ? "logical-dns" : "strict-dns";
    case "dns-round-robin":
      return "logical-dns";
    case "passthrough":
      // A gateway has no original destination to go to.
      return proxy === "router" ? "eds" : "original-dst";
    case "dynamic-dns":
      return isDynamic(service, mode) ? "dynamic-forward-proxy" : "eds";
    default:
      return "eds";
  }
}

/** Envoy tries all addresses of a name at once and keeps the first that answers. */
export function racesAddresses(service: Service): boolean {
  return service.annotations["istio.io/connect-strategy"]?.toUpperCase() === "RACE_FIRST_TCP_CONNECT";
}

function passThrough(found: Discovery, { policy }: EffectivePolicy): Discovery {
  if (found === "dynamic-forward-proxy") return found;
  return policy.loadBalancer?.simple === "PASSTHROUGH" ? "original-dst" : found;
}

function subsetDiscovery(host: Discovery, subset: DestinationSubset): Discovery {
  return subset.trafficPolicy?.loadBalancer?.simple === "PASSTHROUGH" ? "original-dst" : host;
}

/** Tells provenance which fields of the rule made the cluster. */
export function noteRule(view: View, { rule, subset, effective }: OutboundTarget): void {
  if (!rule) return;
  const object = objectName("DestinationRule", rule.meta);
  for (const path of effective.from.values()) view.mesh.graph.note(object, path);
  if (subset) view.mesh.graph.note(object, `spec.subsets[${rule.spec.subsets?.indexOf(subset) ?? -1}]`);
}
