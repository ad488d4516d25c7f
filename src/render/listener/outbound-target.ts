/** Where a TCP chain's traffic goes in; the filters that bring it there, and the clusters they need, out. */
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { MergedDestinationRule } from "../../mesh/index.ts";
import {
  type DestinationRuleSpec,
  type InboundFacet,
  type ObjectId,
  type OutboundFacet,
  objectName,
  type Protocol,
  portByNumber,
  type RouteDestination,
  type Service,
} from "../../model/index.ts";
import { declareTcp } from "../filters/declare-tcp.ts";
import { sniDynamicForwardProxy } from "../filters/dynamic-forward-proxy.ts";
import { networkFilters } from "../filters/network-filters.ts";
import { tcpPolicy } from "../filters/tcp-policy.ts";
import { protocolFilters, tcpProxy } from "../filters/tcp-proxy.ts";
import { outboundCluster } from "../outbound/cluster-name.ts";
import { statName } from "../outbound/stat-name.ts";
import { mustDeclareTcp } from "../proxy/profile.ts";
import { destinationCluster } from "../route/destination.ts";
import type { View } from "../view.ts";
import { isDynamicWildcard } from "./outbound-tcp.ts";

export interface TcpFilters {
  readonly filters: readonly Filter[];
  readonly needs: readonly string[];
}

/** The services that chains send to, by the names that they have for them, and their rules. */
export interface TargetServices {
  service(name: string): Service | undefined;
  rule(name: string): MergedDestinationRule | undefined;
}

/** What of a chain's place is the same for all its targets. */
export type TargetPlace = {
  readonly services: TargetServices;
  readonly port: number;
  readonly protocol: Protocol;
  /** At a gateway: workload facts are exchanged with clients of the mesh. */
  readonly exchange?: boolean;
} & (
  | { readonly direction: "outbound"; readonly view: View<OutboundFacet> }
  | { readonly direction: "gateway"; readonly view: View<InboundFacet>; readonly secured: boolean }
);

export function serviceFilters(place: TargetPlace, key: string, port: number): TcpFilters {
  const { view } = place;
  const service = place.services.service(key);
  if (!service) return { filters: [], needs: [] };
  const cluster = outboundCluster(service.host, port);
  const pattern = view.mesh.settings().outboundClusterStatName;
  // Istio does not look up the port's name here.
  const statPrefix = pattern ? statName(pattern, { service, subset: "", port, portName: "", targetPort: 0 }) : cluster;
  return single(place, { name: key, cluster, statPrefix, subset: "", port });
}

/** Of several destinations, the first one's host decides the policy. */
export function routeFilters(
  place: TargetPlace,
  routes: readonly RouteDestination[],
  from: { readonly meta: ObjectId; readonly field: string },
): TcpFilters {
  const { view, direction, services } = place;
  view.mesh.graph.note(objectName("VirtualService", from.meta), from.field);
  const [first] = routes;
  const destination = first?.destination ?? {};
  const { host = "" } = destination;
  const service = services.service(host);
  if (routes.length === 1) {
    const cluster = destinationCluster(destination, service, place.port);
    const statPrefix = routeStatPrefix(place, destination, service) ?? cluster;
    const port = destination.port?.number ?? place.port;
    return single(place, { name: host, cluster, statPrefix, subset: destination.subset ?? "", port });
  }
  const clusters = routes.flatMap(({ destination: to = {}, weight = 0 }) =>
    weight > 0 ? [{ name: destinationCluster(to, services.service(to.host ?? ""), place.port), weight }] : [],
  );
  const statPrefix = `${from.meta.name}.${from.meta.namespace}`;
  const declare = routes.some(({ destination: to = {} }) =>
    mayCarryHttp(place, to.host ?? "", to.port?.number ?? place.port),
  );
  const options = tcpPolicy(destinationRule(place, host), "", true);
  const last = [
    ...(declare ? [declareTcp()] : []),
    ...protocolFilters(place.protocol, statPrefix),
    tcpProxy(view, direction, { statPrefix, clusters, weighted: true, options }),
  ];
  return { filters: filtersAt(place, last), needs: clusters.map(({ name }) => name) };
}

interface Single {
  /** Of the service, as the chain has it. */
  readonly name: string;
  readonly cluster: string;
  readonly statPrefix: string;
  readonly subset: string;
  readonly port: number;
  /** TLS of the client goes through as it is: no tunnel, and nothing to say about what is inside. */
  readonly passesTls?: boolean;
}

export function single(
  place: TargetPlace,
  { name, cluster, statPrefix, subset, port, passesTls = false }: Single,
): TcpFilters {
  const { view, direction } = place;
  const service = place.services.service(name);
  const options = tcpPolicy(destinationRule(place, name), subset, !passesTls);
  const dynamic = direction === "outbound" && service !== undefined && isDynamicWildcard(service);
  const last = [
    ...(dynamic ? [sniDynamicForwardProxy(view.proxy, service.host, place.port)] : []),
    ...(!passesTls && mayCarryHttp(place, name, port) ? [declareTcp()] : []),
    ...protocolFilters(place.protocol, statPrefix),
    tcpProxy(view, direction, { statPrefix, clusters: [{ name: cluster, weight: 0 }], weighted: false, options }),
  ];
  return { filters: filtersAt(place, last), needs: [cluster] };
}

function filtersAt(place: TargetPlace, last: readonly Filter[]): Filter[] {
  const { port, exchange = false } = place;
  return place.direction === "outbound"
    ? networkFilters({ view: place.view, direction: "outbound", port, exchange }, last)
    : networkFilters({ view: place.view, direction: "gateway", port, exchange, secured: place.secured }, last);
}

function destinationRule({ view, services }: TargetPlace, name: string): DestinationRuleSpec | undefined {
  const rule = services.service(name) && services.rule(name);
  for (const key of rule?.from ?? []) view.mesh.graph.note(`DestinationRule/${key}`, "spec.trafficPolicy");
  return rule?.spec;
}

/** True where the mTLS socket of the port's cluster offers HTTP; sockets that are not Istio's own are left alone. */
function mayCarryHttp(place: TargetPlace, name: string, port: number): boolean {
  const service = place.services.service(name);
  const declared = service && portByNumber(service.ports, port);
  if (!service || !declared || !mustDeclareTcp(place.view.proxy, declared.protocol)) return false;
  const policy = destinationRule(place, name)?.trafficPolicy;
  const own = policy?.portLevelSettings?.find((setting) => setting.port?.number === port)?.tls ?? policy?.tls;
  return own === undefined ? !service.meshExternal : own.mode === "ISTIO_MUTUAL";
}

function routeStatPrefix(
  { view, port }: TargetPlace,
  to: { readonly host?: string; readonly subset?: string },
  service: Service | undefined,
): string | undefined {
  const pattern = view.mesh.settings().outboundClusterStatName;
  if (!pattern || !service) return undefined;
  const named = { ...service, host: to.host ?? "" };
  return statName(pattern, { service: named, subset: to.subset ?? "", port, portName: "", targetPort: 0 });
}
