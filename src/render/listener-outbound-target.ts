/** Where a TCP chain's traffic goes in; the filters that bring it there, and the clusters they need, out. */
import type { Filter } from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import {
  type Config,
  type DestinationRuleSpec,
  objectName,
  type Protocol,
  type RouteDestination,
  type Service,
  type VirtualServiceSpec,
} from "../model/index.ts";
import { clientScope } from "./client-scope.ts";
import { outboundCluster } from "./cluster-name.ts";
import { statName } from "./cluster-stat-name.ts";
import { clientDirection } from "./direction.ts";
import { declareTcp } from "./filters/declare-tcp.ts";
import { sniDynamicForwardProxy } from "./filters/dynamic-forward-proxy.ts";
import { networkFilters } from "./filters/network-filters.ts";
import { tcpPolicy } from "./filters/tcp-policy.ts";
import { protocolFilters, tcpProxy } from "./filters/tcp-proxy.ts";
import { isDynamicWildcard } from "./listener-outbound-tcp.ts";
import { mustDeclareTcp } from "./profile.ts";
import { destinationCluster } from "./route/destination.ts";
import type { View } from "./view.ts";

export interface TcpFilters {
  readonly filters: readonly Filter[];
  readonly needs: readonly string[];
}

/** What of a chain's place is the same for all its targets. */
export interface TargetPlace {
  readonly port: number;
  readonly protocol: Protocol;
  /** At a gateway: workload facts are exchanged with clients of the mesh. */
  readonly exchange?: boolean;
  readonly secured?: boolean;
}

export function serviceTarget(view: View, key: string, port: number, place: TargetPlace): TcpFilters {
  const service = clientScope(view).service(key);
  if (!service) return { filters: [], needs: [] };
  const cluster = outboundCluster(service.host, port);
  const pattern = view.mesh.settings().outboundClusterStatName;
  // Istio does not look up the port's name here.
  const statPrefix = pattern ? statName(pattern, { service, subset: "", port, portName: "", targetPort: 0 }) : cluster;
  return single(view, { service, cluster, statPrefix, subset: "", port, place });
}

/** Of several destinations, the first one's host decides the policy. */
export function routeTarget(
  view: View,
  routes: readonly RouteDestination[],
  from: { readonly meta: Config<VirtualServiceSpec>["meta"]; readonly field: string },
  place: TargetPlace,
): TcpFilters {
  view.mesh.graph.note(objectName("VirtualService", from.meta), from.field);
  const scope = clientScope(view);
  const [first] = routes;
  const destination = first?.destination ?? {};
  const service = scope.serviceFor(destination.host ?? "");
  if (routes.length === 1) {
    const cluster = destinationCluster(destination, service, place.port);
    const statPrefix = routeStatPrefix(view, destination, service, place.port) ?? cluster;
    const port = destination.port?.number ?? place.port;
    return single(view, { service, cluster, statPrefix, subset: destination.subset ?? "", port, place });
  }
  const clusters = routes.flatMap(({ destination: to = {}, weight = 0 }) =>
    weight > 0 ? [{ name: destinationCluster(to, scope.serviceFor(to.host ?? ""), place.port), weight }] : [],
  );
  const statPrefix = `${from.meta.name}.${from.meta.namespace}`;
  const rule = service && destinationRule(view, service);
  const direction = clientDirection(view.proxy);
  const declare = routes.some(({ destination: to = {} }) =>
    mayCarryHttp(view, scope.serviceFor(to.host ?? ""), to.port?.number ?? place.port),
  );
  const last = [
    ...(declare ? [declareTcp()] : []),
    ...protocolFilters(place.protocol, statPrefix),
    tcpProxy(view, direction, { statPrefix, clusters, weighted: true, options: tcpPolicy(rule, "", true) }),
  ];
  return { filters: networkFilters(tcpPlace(view, place), last), needs: clusters.map(({ name }) => name) };
}

interface Single {
  readonly service: Service | undefined;
  readonly cluster: string;
  readonly statPrefix: string;
  readonly subset: string;
  readonly port: number;
  readonly place: TargetPlace;
  /** TLS of the client goes through as it is: no tunnel, and nothing to say about what is inside. */
  readonly passesTls?: boolean;
}

export function single(
  view: View,
  { service, cluster, statPrefix, subset, port, place, passesTls = false }: Single,
): TcpFilters {
  const direction = clientDirection(view.proxy);
  const rule = service && destinationRule(view, service);
  const options = tcpPolicy(rule, subset, !passesTls);
  const dynamic = direction === "outbound" && service !== undefined && isDynamicWildcard(service);
  const last = [
    ...(dynamic ? [sniDynamicForwardProxy(view.proxy, service.host, place.port)] : []),
    ...(!passesTls && mayCarryHttp(view, service, port) ? [declareTcp()] : []),
    ...protocolFilters(place.protocol, statPrefix),
    tcpProxy(view, direction, { statPrefix, clusters: [{ name: cluster, weight: 0 }], weighted: false, options }),
  ];
  return { filters: networkFilters(tcpPlace(view, place), last), needs: [cluster] };
}

const tcpPlace = (view: View, { port, exchange = false, secured = false }: TargetPlace) => ({
  view,
  direction: clientDirection(view.proxy),
  port,
  exchange,
  secured,
});

function destinationRule(view: View, service: Service): DestinationRuleSpec | undefined {
  const rule = view.shared(`client-rule|${service.key}`, () =>
    clientScope(view).destinationRule(service.key, view.proxy.labels),
  );
  for (const key of rule?.from ?? []) view.mesh.graph.note(`DestinationRule/${key}`, "spec.trafficPolicy");
  return rule?.spec;
}

/** True where the mTLS socket of the port's cluster offers HTTP; sockets that are not Istio's own are left alone. */
function mayCarryHttp(view: View, service: Service | undefined, port: number): boolean {
  const declared = service?.ports.find((candidate) => candidate.port === port);
  if (!service || !declared || !mustDeclareTcp(view.proxy, declared.protocol)) return false;
  const policy = destinationRule(view, service)?.trafficPolicy;
  const own = policy?.portLevelSettings?.find((setting) => setting.port?.number === port)?.tls ?? policy?.tls;
  return own === undefined ? !service.meshExternal : own.mode === "ISTIO_MUTUAL";
}

function routeStatPrefix(
  view: View,
  to: { readonly host?: string; readonly subset?: string },
  service: Service | undefined,
  port: number,
): string | undefined {
  const pattern = view.mesh.settings().outboundClusterStatName;
  if (!pattern || !service) return undefined;
  const named = { ...service, host: to.host ?? "" };
  return statName(pattern, { service: named, subset: to.subset ?? "", port, portName: "", targetPort: 0 });
}
