/** A service's port, or a destination, as a scope sees it in; what its DestinationRule hashes on out, with the cause noted. */
import type { MergedDestinationRule, Scope } from "../../mesh/index.ts";
import { type Destination, objectName } from "../../model/index.ts";
import { ruleOf } from "../client-scope.ts";
import type { View } from "../view.ts";
import { type ConsistentHash, hashOfDestination, hashOfService } from "./hash-policy.ts";

export function serviceHash(view: View, key: string, port: number): ConsistentHash | undefined {
  const rule = ruleOf(view, key);
  return rule && noted(view, rule, hashOfService(rule.spec, port));
}

export function destinationHash(view: View, scope: Scope, destination: Destination): ConsistentHash | undefined {
  const key = scope.keyFor(destination.host ?? "");
  const rule = key === undefined ? undefined : ruleOf(view, key);
  return rule && noted(view, rule, hashOfDestination(rule.spec, destination));
}

function noted(view: View, rule: MergedDestinationRule, hash: ConsistentHash | undefined): ConsistentHash | undefined {
  if (hash) view.mesh.graph.note(objectName("DestinationRule", rule.meta), "spec.trafficPolicy.loadBalancer");
  return hash;
}
