/** The class of a proxy in; the facets that parts are made from out. Each names every field that it lets through. */
import type {
  BuildFacet,
  ClientFacet,
  EgressFacet,
  InboundFacet,
  OutboundFacet,
  PlacedFacet,
  ProxyClass,
  ServerFacet,
  TracedFacet,
} from "../model/index.ts";
import type { FacetKind } from "./recipe.ts";

const build = (proxy: BuildFacet): BuildFacet => ({
  type: proxy.type,
  profile: proxy.profile,
  istioVersion: proxy.istioVersion,
  ipv4: proxy.ipv4,
  ipv6: proxy.ipv6,
  cluster: proxy.cluster,
  interception: proxy.interception,
  proxyConfig: proxy.proxyConfig,
  metadata: proxy.metadata,
});

const egress = (proxy: EgressFacet): EgressFacet => ({ ...build(proxy), sidecar: proxy.sidecar });

const client = (proxy: ClientFacet): ClientFacet => ({
  ...egress(proxy),
  namespace: proxy.namespace,
  labels: proxy.labels,
});

const placed = (proxy: PlacedFacet): PlacedFacet => ({
  ...build(proxy),
  locality: proxy.locality,
  network: proxy.network,
  node: proxy.node,
  placeLabels: proxy.placeLabels,
});

const outbound = (proxy: OutboundFacet): OutboundFacet => ({
  ...egress(proxy),
  telemetries: proxy.telemetries,
  extensions: proxy.extensions,
});

const inbound = (proxy: InboundFacet): InboundFacet => ({
  ...outbound(proxy),
  peerAuthentications: proxy.peerAuthentications,
  requestAuthentications: proxy.requestAuthentications,
  authorizationPolicies: proxy.authorizationPolicies,
});

const server = (proxy: ServerFacet): ServerFacet => ({
  ...client(proxy),
  ...inbound(proxy),
  targets: proxy.targets,
  ownAddresses: proxy.ownAddresses,
  gateways: proxy.gateways,
  promisesMtls: proxy.promisesMtls,
});

/** Nothing of the proxy: for what follows from the mesh alone. */
export const meshFacet: FacetKind<object> = { project: () => ({}) };
export const buildFacet: FacetKind<BuildFacet> = { project: build };
export const egressFacet: FacetKind<EgressFacet> = { project: egress };
export const clientFacet: FacetKind<ClientFacet> = { project: client };
export const placedFacet: FacetKind<PlacedFacet> = { project: placed };
/** Who asks, and from where. */
export const placedClientFacet: FacetKind<ClientFacet & PlacedFacet> = {
  project: (proxy) => ({ ...client(proxy), ...placed(proxy) }),
};
export const outboundFacet: FacetKind<OutboundFacet> = { project: outbound };
export const inboundFacet: FacetKind<InboundFacet> = { project: inbound };
export const serverFacet: FacetKind<ServerFacet> = { project: server };
export const tracedFacet: FacetKind<TracedFacet> = {
  project: (proxy) => ({ ...outbound(proxy), namespace: proxy.namespace, self: proxy.self }),
};
export const clientOutboundFacet: FacetKind<ClientFacet & OutboundFacet> = {
  project: (proxy) => ({ ...client(proxy), ...outbound(proxy) }),
};
export const clientTracedFacet: FacetKind<ClientFacet & TracedFacet> = {
  project: (proxy) => ({ ...client(proxy), ...outbound(proxy), self: proxy.self }),
};
/** A server, and what its spans say of it. */
export const tracedServerFacet: FacetKind<ServerFacet & TracedFacet> = {
  project: (proxy) => ({ ...server(proxy), self: proxy.self }),
};
/** The whole class: for what names the workload, and for gateways. */
export const ownFacet: FacetKind<ProxyClass> = { project: (proxy) => proxy };
