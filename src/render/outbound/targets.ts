/** What was decided about a service, by reference, in; what its outbound clusters stand for out: service, port, subset, rule, policy, and how endpoints are found. */
import type { MergedDestinationRule } from "../../mesh/index.ts";
import {
  type BuildFacet,
  type DestinationSubset,
  isWildcard,
  objectName,
  type PlacedFacet,
  type ProxyType,
  type Service,
  type ServicePort,
} from "../../model/index.ts";
import { buildFacet } from "../facets.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import {
  type EffectivePolicy,
  hostPolicy,
  type Policy,
  subsetPolicy,
  withMeshDefaults,
} from "../traffic-policy/effective.ts";
import { dependsOnPlace, localityPolicy } from "../traffic-policy/locality.ts";
import type { View } from "../view.ts";
import { type OutboundName, outboundCluster, parseClusterName, sniCluster } from "./cluster-name.ts";

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
  /** Where the client is, where that counts. */
  readonly place?: PlacedFacet;
}

/** One outbound cluster as it was decided: by references, so that namespaces which decide alike share what is built. */
export interface DecidedTarget {
  readonly name: string;
  /** For `decidedTarget`. */
  readonly key: string;
  /** Its endpoints are sent over EDS. */
  readonly eds: boolean;
  /** Whether the place of the client makes a difference to the cluster (endpoints that come with it), or to its EDS. */
  readonly near: { readonly cluster: boolean; readonly endpoints: boolean };
}

/** What decides about a service's clusters; `ports` as a scope's table says which are left. */
export interface TargetsKey {
  readonly mode: OutboundName["mode"];
  readonly service: string;
  readonly ports: string;
  readonly rule: string | undefined;
}

export const targetsKey = ({ mode, service, ports, rule = "" }: TargetsKey): string =>
  keyOf(mode, service, ports, rule);

/** All clusters of a service. */
export const serviceTargets = recipe(buildFacet, "outbound targets", (view, key): readonly DecidedTarget[] => {
  const [mode = "", serviceKey = "", left = "", ref = ""] = wordsOf(key);
  const service = view.mesh.service(serviceKey);
  if (!service || !isMode(mode)) return [];
  const rule = ref === "" ? undefined : view.mesh.rule(ref);
  const subsets = isDynamic(service, mode) ? [] : (rule?.spec.subsets ?? []).map((subset) => subset.name ?? "");
  return portsLeft(view, service, left).flatMap(({ port, owner }) => {
    if (!isServed(service, port, mode)) return [];
    return [...new Set(["", ...subsets])].flatMap((subset): DecidedTarget[] => {
      const target = resolve(view, service, port, rule, mode, subset);
      if (!target) return [];
      const id = keyOf(target.name, serviceKey, owner, ref);
      return [{ name: target.name, key: id, eds: target.discovery === "eds", near: nearness(view, target) }];
    });
  });
});

/** The target again, from its references alone. `place` is where the client is, where that counts. */
export function decidedTarget(
  view: View<BuildFacet>,
  key: string,
  place: PlacedFacet | undefined,
): OutboundTarget | undefined {
  const [name = "", serviceKey = "", owner = "", ref = ""] = wordsOf(key);
  const parsed = parseClusterName(name);
  const service = view.mesh.service(serviceKey);
  if (!service || !parsed || parsed.mode === "inbound") return undefined;
  const port = view.mesh.service(owner)?.ports.find((candidate) => candidate.port === parsed.port);
  const rule = ref === "" ? undefined : view.mesh.rule(ref);
  const target = port && resolve(view, service, port, rule, parsed.mode, parsed.subset);
  if (target) noteRule(view, target);
  return target && place ? { ...target, place } : target;
}

interface OwnedPort {
  readonly port: ServicePort;
  /** Key of the object that has it. */
  readonly owner: string;
}

function portsLeft({ mesh }: View<BuildFacet>, service: Service, left: string): readonly OwnedPort[] {
  const own = service.ports.map((port) => ({ port, owner: service.key }));
  if (left === "") return own;
  const words = left.split(",");
  const others = words.flatMap((word) => {
    const at = word.indexOf("@");
    const owner = word.slice(at + 1);
    const found = at < 0 ? [] : (mesh.service(owner)?.ports ?? []);
    return found.filter(({ port }) => port === Number(word.slice(0, at))).map((port) => ({ port, owner }));
  });
  return [...own.filter(({ port }) => words.includes(String(port.port))), ...others];
}

/** The ports that are left of a service, other objects' among them. */
export function servicePortsLeft(view: View<BuildFacet>, service: Service, left: string): readonly ServicePort[] {
  return portsLeft(view, service, left).map(({ port }) => port);
}

const isMode = (word: string): word is OutboundName["mode"] => word === "outbound" || word === "sni-dnat";

function nearness({ mesh }: View<BuildFacet>, target: OutboundTarget): DecidedTarget["near"] {
  const near = (policy: Policy): boolean => {
    const places = localityPolicy(mesh.settings(), policy.loadBalancer, target.service);
    return target.service.nodeLocal || dependsOnPlace(places, policy.outlierDetection !== undefined);
  };
  const hasEndpoints = target.found === "strict-dns" || target.found === "logical-dns";
  return {
    cluster: hasEndpoints && near(target.effective.policy),
    endpoints: target.discovery === "eds" && near(endpointPolicy(target)),
  };
}

/** The policy as it holds for endpoints: what the mesh config sets for all destinations is not part of it. */
export function endpointPolicy({ rule, port, subset }: OutboundTarget): Policy {
  const host = hostPolicy(rule?.spec, port.port);
  return (subset ? subsetPolicy(host, rule?.spec, port.port, subset.name ?? "") : host).policy;
}

function resolve(
  view: View<BuildFacet>,
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
function noteRule(view: View<BuildFacet>, { rule, subset, effective }: OutboundTarget): void {
  if (!rule) return;
  const object = objectName("DestinationRule", rule.meta);
  for (const path of effective.from.values()) view.mesh.graph.note(object, path);
  if (subset) view.mesh.graph.note(object, `spec.subsets[${rule.spec.subsets?.indexOf(subset) ?? -1}]`);
}
