/**
 * What a facet lets through of a proxy, as data, and a proxy in; its facet out, as a view that all have for whom it is equal.
 */
import type { ProxyClass } from "../model/index.ts";
import type { View } from "./view.ts";

/** A projection of what is known of a proxy: the fields of the facets that it is of, and own ones. No others. */
export interface FacetKind<F extends object> {
  readonly of: readonly FacetKind<object>[];
  readonly own: readonly (keyof ProxyClass)[];
  readonly fields: { readonly [K in keyof F]-?: true };
}

type FieldsOf<Of extends readonly FacetKind<object>[]> = Together<Of[number]["fields"]>;
type Together<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer All) => void ? All : never;

/** Where a field is missing, the types say so. */
export function facet<const Of extends readonly FacetKind<object>[], const Own extends keyof ProxyClass>(
  of: Of,
  own: readonly Own[],
): { of: Of; own: readonly Own[]; fields: FieldsOf<Of> & Readonly<Record<Own, true>> } {
  const fields = Object.assign(
    {},
    ...of.map((one) => one.fields),
    Object.fromEntries(own.map((field) => [field, true])),
  );
  return { of, own, fields };
}

/** A view, or a proxy that has none yet. */
type Faceted<F extends object> = Pick<View<F>, "proxy" | "store" | "facets">;

/** Known by the facets that it is of, which are mostly known already, and by what it has of its own. */
export function facetOf<F extends object>(view: Faceted<F>, kind: FacetKind<F>): View<F> {
  const known = view.facets.get(kind);
  if (known) return known as View<F>;
  const proxy: Partial<ProxyClass> = view.proxy;
  // Each class has some twenty: a list of parents for each of them would be garbage.
  let ids = "";
  for (const one of kind.of) ids += `${facetOf<object>(view, one).id},`;
  const own = kind.own.map((field) => proxy[field]);
  const content = own.length === 0 ? ids : `${ids} ${JSON.stringify(own)}`;
  const made = view.store.facetView<F>(kind, content, () => only(proxy, kind.fields) as F);
  view.facets.set(kind, made as View<object>);
  // A facet's facet of the same kind is itself.
  made.facets.set(kind, made as View<object>);
  for (const one of kind.of) made.facets.set(one, facetOf<object>(view, one));
  return made;
}

/**
 * One shape for all facets, as they are read by the same code: what a facet does not let through is undefined. A new field of
 * `ProxyClass` goes here too.
 */
function only(proxy: Partial<ProxyClass>, has: { readonly [K in keyof ProxyClass]?: true }) {
  return {
    type: has.type && proxy.type,
    profile: has.profile && proxy.profile,
    istioVersion: has.istioVersion && proxy.istioVersion,
    ipv4: has.ipv4 && proxy.ipv4,
    ipv6: has.ipv6 && proxy.ipv6,
    cluster: has.cluster && proxy.cluster,
    interception: has.interception && proxy.interception,
    proxyConfig: has.proxyConfig && proxy.proxyConfig,
    metadata: has.metadata && proxy.metadata,
    sidecar: has.sidecar && proxy.sidecar,
    namespace: has.namespace && proxy.namespace,
    labels: has.labels && proxy.labels,
    locality: has.locality && proxy.locality,
    network: has.network && proxy.network,
    node: has.node && proxy.node,
    placeLabels: has.placeLabels && proxy.placeLabels,
    telemetries: has.telemetries && proxy.telemetries,
    extensions: has.extensions && proxy.extensions,
    peerAuthentications: has.peerAuthentications && proxy.peerAuthentications,
    requestAuthentications: has.requestAuthentications && proxy.requestAuthentications,
    authorizationPolicies: has.authorizationPolicies && proxy.authorizationPolicies,
    targets: has.targets && proxy.targets,
    ownAddresses: has.ownAddresses && proxy.ownAddresses,
    gateways: has.gateways && proxy.gateways,
    promisesMtls: has.promisesMtls && proxy.promisesMtls,
    self: has.self && proxy.self,
    serviceAccount: has.serviceAccount && proxy.serviceAccount,
    envoyFilters: has.envoyFilters && proxy.envoyFilters,
    matchedMetadata: has.matchedMetadata && proxy.matchedMetadata,
  } satisfies { readonly [K in keyof ProxyClass]: ProxyClass[K] | undefined };
}
