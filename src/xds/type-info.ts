/** What the protocol says of each resource type: its place in a push, its short name, whether asking for nothing means all. */
import { envoyTypes, type ResourceType, types } from "../model/index.ts";

/** The order in which a change is told: what is pointed to before what points at it. */
export const pushOrder: readonly ResourceType[] = [...envoyTypes, types.nameTable, types.proxyConfig, types.workload];

/** Virtual hosts are no type of their own to the source: they are made of its route configurations while these are sent. */
export const virtualHostType = "type.googleapis.com/envoy.config.route.v3.VirtualHost";

/** What goes over the wire. */
export type WireType = ResourceType | typeof virtualHostType;

const byUrl = new Map<string, WireType>([
  ...pushOrder.map((type) => [type, type] as const),
  [virtualHostType, virtualHostType],
]);

/** Undefined for a type that is not served. */
export function wireType(url: string): WireType | undefined {
  return byUrl.get(url);
}

const wildcardTypes: ReadonlySet<ResourceType> = new Set([
  types.cluster,
  types.listener,
  types.nameTable,
  types.proxyConfig,
]);

/** CDS, LDS and Istio's own types: a request without names asks for all. */
export function isWildcardType(type: ResourceType): boolean {
  return wildcardTypes.has(type);
}

/** In a state-of-the-world response of these, what is left out is deleted by the client; of the others it is kept. */
export function isWholeSet(type: ResourceType): boolean {
  return isWildcardType(type);
}

const shortNames: Record<WireType, string> = {
  [types.cluster]: "CDS",
  [types.endpoint]: "EDS",
  [types.listener]: "LDS",
  [types.route]: "RDS",
  [types.secret]: "SDS",
  [types.extension]: "ECDS",
  [types.nameTable]: "NDS",
  [types.proxyConfig]: "PCDS",
  [types.workload]: "WDS",
  [virtualHostType]: "VHDS",
};

export function shortName(type: WireType): string {
  return shortNames[type];
}

const labels = new Map(Object.entries(shortNames).map(([type, short]) => [type, { type: short.toLowerCase() }]));

/** As metrics are labelled by type; the same object each time. */
export function metricLabel(type: WireType): { readonly type: string } {
  return labels.get(type) ?? { type: "" };
}
