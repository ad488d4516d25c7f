/** What a DestinationRule hashes on in, the hash policy that routes to its host need out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type RouteAction_HashPolicy,
  RouteAction_HashPolicySchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type {
  Destination,
  DestinationRuleSpec,
  LoadBalancerSettingsConsistentHashLB,
  TrafficPolicy,
} from "../../model/index.ts";
import { unsignedDuration } from "./timeout.ts";

/** Of a DestinationRule, for provenance. */
export const hashField = "spec.trafficPolicy.loadBalancer";

export type ConsistentHash = LoadBalancerSettingsConsistentHashLB;

/** For a destination of a VirtualService: subset over host, and the destination's port over all ports in each. */
export function hashOfDestination(rule: DestinationRuleSpec, destination: Destination): ConsistentHash | undefined {
  const subset = (rule.subsets ?? []).find(({ name }) => name === (destination.subset ?? ""));
  const port = destination.port?.number;
  return (
    hashOfPort(subset?.trafficPolicy, port) ??
    subset?.trafficPolicy?.loadBalancer?.consistentHash ??
    hashOfPort(rule.trafficPolicy, port) ??
    rule.trafficPolicy?.loadBalancer?.consistentHash
  );
}

/** For a service without VirtualService. */
export function hashOfService(rule: DestinationRuleSpec, port: number): ConsistentHash | undefined {
  return hashOfPort(rule.trafficPolicy, port) ?? rule.trafficPolicy?.loadBalancer?.consistentHash;
}

export function hashes({ trafficPolicy, subsets = [] }: DestinationRuleSpec): boolean {
  return [trafficPolicy, ...subsets.map((subset) => subset.trafficPolicy)].some(
    (policy) =>
      policy?.loadBalancer?.consistentHash !== undefined ||
      policy?.portLevelSettings?.some(({ loadBalancer }) => loadBalancer?.consistentHash !== undefined),
  );
}

function hashOfPort(policy: TrafficPolicy | undefined, port: number | undefined): ConsistentHash | undefined {
  if (port === undefined) return undefined;
  return policy?.portLevelSettings?.find((setting) => setting.port?.number === port)?.loadBalancer?.consistentHash;
}

/** Undefined where the key of the hash is missing: the load balancer then picks at random. */
export function hashPolicy(hash: ConsistentHash | undefined): RouteAction_HashPolicy | undefined {
  const policySpecifier = hash && specifier(hash);
  return policySpecifier && create(RouteAction_HashPolicySchema, { policySpecifier });
}

type Specifier = MessageInitShape<typeof RouteAction_HashPolicySchema>["policySpecifier"];

function specifier(hash: ConsistentHash): Specifier | undefined {
  if (hash.httpHeaderName) return { case: "header", value: { headerName: hash.httpHeaderName } };
  if (hash.httpCookie?.name) return { case: "cookie", value: cookie(hash.httpCookie) };
  if (hash.useSourceIp !== undefined) return { case: "connectionProperties", value: { sourceIp: hash.useSourceIp } };
  if (hash.httpQueryParameterName) return { case: "queryParameter", value: { name: hash.httpQueryParameterName } };
  return undefined;
}

function cookie(written: NonNullable<ConsistentHash["httpCookie"]>) {
  const ttl = unsignedDuration(written.ttl);
  return {
    name: written.name ?? "",
    path: written.path ?? "",
    attributes: (written.attributes ?? []).map(({ name = "", value = "" }) => ({ name, value })),
    ...(ttl ? { ttl } : {}),
  };
}
