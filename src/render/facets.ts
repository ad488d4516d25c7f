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
import { type FacetKind, facet } from "./facet.ts";

export type TypeFacet = Pick<BuildFacet, "type">;

/** Nothing of the proxy: for what follows from the mesh alone. */
export const meshFacet: FacetKind<object> = facet([], []);
/** What clusters there are, and what they stand for, follows from no more. */
export const typeFacet: FacetKind<TypeFacet> = facet([], ["type"]);
export const buildFacet: FacetKind<BuildFacet> = facet(
  [typeFacet],
  ["profile", "istioVersion", "ipv4", "ipv6", "cluster", "interception", "proxyConfig", "metadata"],
);
export const egressFacet: FacetKind<EgressFacet> = facet([buildFacet], ["sidecar"]);
export const clientFacet: FacetKind<ClientFacet> = facet([egressFacet], ["namespace", "labels"]);
export const placedFacet: FacetKind<PlacedFacet> = facet([buildFacet], ["locality", "network", "node", "placeLabels"]);
/** Who asks, and from where. */
export const placedClientFacet: FacetKind<ClientFacet & PlacedFacet> = facet([clientFacet, placedFacet], []);
export const outboundFacet: FacetKind<OutboundFacet> = facet([egressFacet], ["telemetries", "extensions"]);
export const inboundFacet: FacetKind<InboundFacet> = facet(
  [outboundFacet],
  ["peerAuthentications", "requestAuthentications", "authorizationPolicies"],
);
export const serverFacet: FacetKind<ServerFacet> = facet(
  [clientFacet, inboundFacet],
  ["targets", "ownAddresses", "gateways", "promisesMtls"],
);
export const tracedFacet: FacetKind<TracedFacet> = facet([outboundFacet], ["namespace", "self"]);
export const clientOutboundFacet: FacetKind<ClientFacet & OutboundFacet> = facet([clientFacet, outboundFacet], []);
export const clientTracedFacet: FacetKind<ClientFacet & TracedFacet> = facet([clientOutboundFacet], ["self"]);
/** A server, and what its spans say of it. */
export const tracedServerFacet: FacetKind<ServerFacet & TracedFacet> = facet([serverFacet], ["self"]);
/** The whole class: for what names the workload, and for gateways. */
export const ownFacet: FacetKind<ProxyClass> = facet(
  [tracedServerFacet, placedFacet],
  ["serviceAccount", "envoyFilters", "matchedMetadata"],
);
