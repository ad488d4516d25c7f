/** What was decided about a service, by reference, in; what its outbound clusters stand for out: service, port, subset, rule, policy, and how endpoints are found. */
import { sameData } from "../../collections/index.ts";
import type { MergedDestinationRule } from "../../mesh/index.ts";
import {
  type DestinationSubset,
  isWildcard,
  objectName,
  type PlacedFacet,
  type ProxyType,
  portByNumber,
  type Service,
  type ServicePort,
} from "../../model/index.ts";
import { type TypeFacet, typeFacet } from "../facets.ts";
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
  /** Sent to the original destination all the same, because the policy says PASSTHROUGH. */
  readonly passesThrough: boolean;
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
export const decidedTargets = recipe(typeFacet, "outbound targets", (view, key): readonly DecidedTarget[] => {
  const [mode = "", serviceKey = "", left = "", ref = ""] = wordsOf(key);
  const service = view.mesh.service(serviceKey);
  if (!service || !isMode(mode)) return [];
  const rule = ref === "" ? undefined : view.mesh.rule(ref);
  const subsets = isDynamic(service, mode) ? [] : (rule?.spec.subsets ?? []).map((subset) => subset.name ?? "");
  const nameOf = mode === "outbound" ? outboundCluster : sniCluster;
  return portsLeft(view, service, left).flatMap(({ port, owner }) => {
    if (!isServed(service, port, mode)) return [];
    return [...new Set(["", ...subsets])].flatMap((subset): DecidedTarget[] => {
      const name = nameOf(service.host, port.port, subset);
      const id = keyOf(name, serviceKey, owner, ref);
      const target = outboundTarget(view, id);
      return target ? [{ name, key: id, eds: isEds(target), near: nearness(view, target) }] : [];
    });
  });
});

/** The target from its references alone, once for all that is made of it. */
const outboundTarget = recipe(
  typeFacet,
  "outbound target",
  ({ mesh, proxy }, key): OutboundTarget | undefined => {
    const [name = "", serviceKey = "", owner = "", ref = ""] = wordsOf(key);
    const parsed = parseClusterName(name);
    const service = mesh.service(serviceKey);
    if (!service || !parsed || parsed.mode === "inbound") return undefined;
    const { mode, subset: subsetName } = parsed;
    const port = portByNumber(mesh.service(owner)?.ports ?? [], parsed.port);
    const rule = ref === "" ? undefined : mesh.rule(ref);
    const subset = subsetName === "" ? undefined : rule?.spec.subsets?.find((entry) => entry.name === subsetName);
    if (!port || (subsetName !== "" && !subset)) return undefined;
    const host = withMeshDefaults(hostPolicy(rule?.spec, port.port), mesh.settings());
    const effective = subset ? subsetPolicy(host, rule?.spec, port.port, subsetName) : host;
    const subsetPasses = subset && [host.policy, subset.trafficPolicy].some(saysPassThrough);
    const found = subsetPasses ? "original-dst" : discoveryOf(proxy.type, service, mode);
    const passesThrough = found !== "dynamic-forward-proxy" && saysPassThrough(effective.policy);
    return { name, mode, service, port, subset, rule, effective, found, passesThrough };
  },
  isSame,
);

/** The rest follows from these and the key. By reference, so that a rule is not gone through for each of its subsets. */
function isSame(a: OutboundTarget | undefined, b: OutboundTarget | undefined): boolean {
  if (!a || !b) return a === b;
  const { service, port, rule, subset, effective, found } = a;
  if (service !== b.service || port !== b.port || rule !== b.rule || subset !== b.subset) return false;
  // Of the host's policy, which is not the effective one of a subset.
  if (found !== b.found) return false;
  return sameData(effective, b.effective);
}

/** The target for a client at that place, where it counts; what is made of it names the fields of the rule as its causes. */
export function decidedTarget(
  view: View<TypeFacet>,
  key: string,
  place: PlacedFacet | undefined,
): OutboundTarget | undefined {
  const target = outboundTarget(view, key);
  if (target) noteRule(view, target);
  return target && place ? { ...target, place } : target;
}

interface OwnedPort {
  readonly port: ServicePort;
  /** Key of the object that has it. */
  readonly owner: string;
}

function portsLeft({ mesh }: View<TypeFacet>, service: Service, left: string): readonly OwnedPort[] {
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
export function servicePortsLeft(view: View<TypeFacet>, service: Service, left: string): readonly ServicePort[] {
  return portsLeft(view, service, left).map(({ port }) => port);
}

const isMode = (word: string): word is OutboundName["mode"] => word === "outbound" || word === "sni-dnat";

/** Whether its endpoints are sent over EDS. */
export const isEds = ({ found, passesThrough }: OutboundTarget): boolean => found === "eds" && !passesThrough;

function nearness({ mesh }: View<TypeFacet>, target: OutboundTarget): DecidedTarget["near"] {
  const near = (policy: Policy): boolean => {
    const places = localityPolicy(mesh.settings(), policy.loadBalancer, target.service);
    return target.service.nodeLocal || dependsOnPlace(places, policy.outlierDetection !== undefined);
  };
  const hasEndpoints = target.found === "strict-dns" || target.found === "logical-dns";
  return {
    cluster: hasEndpoints && near(target.effective.policy),
    endpoints: isEds(target) && near(endpointPolicy(target)),
  };
}

/** The policy as it holds for endpoints: what the mesh config sets for all destinations is not part of it. */
export function endpointPolicy({ rule, port, subset }: OutboundTarget): Policy {
  const host = hostPolicy(rule?.spec, port.port);
  return (subset ? subsetPolicy(host, rule?.spec, port.port, subset.name ?? "") : host).policy;
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

const saysPassThrough = (policy: Policy | undefined): boolean => policy?.loadBalancer?.simple === "PASSTHROUGH";

/** Tells provenance which fields of the rule made what is being made. Not for lists of targets, which hold no policy. */
function noteRule(view: View<TypeFacet>, { rule, subset, effective }: OutboundTarget): void {
  if (!rule) return;
  const object = objectName("DestinationRule", rule.meta);
  for (const path of effective.from.values()) view.mesh.graph.note(object, path);
  if (subset) view.mesh.graph.note(object, `spec.subsets[${rule.spec.subsets?.indexOf(subset) ?? -1}]`);
}
