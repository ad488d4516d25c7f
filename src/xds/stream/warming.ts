/**
 * Clusters that are sent in; endpoints that must follow them out. A cluster that is new or changed warms until endpoints
 * arrive, even the same as before: Envoy does not ask again.
 */
import { type Resource, type ResourceType, types } from "../../model/index.ts";
import type { Plan } from "./planning.ts";
import type { TypeState } from "./type-state.ts";

export interface Warming {
  /** These clusters are sent; says whether endpoints must follow. */
  noteClusters(plan: Plan): boolean;
  /** These clusters were refused, and are on their way again, perhaps ahead of their endpoints; says whether these must follow. */
  noteOfferedAgain(clusters: readonly Resource[]): boolean;
  /** The client has begun to follow endpoints. It may have some of an earlier stream, and those were not sent to it. */
  noteEndpoints(): void;
}

export function createWarming(variant: "sotw" | "delta", states: ReadonlyMap<ResourceType, TypeState>): Warming {
  /** What clusters need that a client which came back was sent before it asked for endpoints. */
  let earlier: Set<string> | undefined;

  /**
   * All that is asked for where clusters were not: while one of them waits for endpoints Envoy says nothing of clusters, and
   * comes back to endpoints alone where its stream was lost in between. It has the cluster already, and its claims look as
   * if nothing were missing. Likewise where all clusters were sent: a client that comes back after a refusal claims none.
   */
  function needed(endpoints: TypeState): Iterable<string> {
    const clusters = states.get(types.cluster);
    if (!clusters || (clusters.answered && !clusters.resumed)) return endpoints.names;
    return earlier ?? none;
  }

  function follow(endpoints: TypeState, names: Iterable<string>): void {
    for (const name of names) if (endpoints.sent(name)) endpoints.mustSend.add(name);
  }

  /** Those of clusters that have gone again are not kept. */
  function remember({ changes, before }: Plan): void {
    earlier ??= new Set();
    for (const name of changes.keys()) {
      for (const gone of before.get(name)?.needs ?? none) earlier.delete(gone);
      for (const one of changes.get(name)?.needs ?? none) earlier.add(one);
    }
  }

  return {
    noteClusters(plan) {
      const endpoints = states.get(types.endpoint);
      if (!endpoints) {
        // A new client has nothing that it would not be sent, and in state of the world all is sent to anyone.
        if (variant === "delta" && states.get(types.cluster)?.resumed) remember(plan);
        return false;
      }
      for (const cluster of plan.resources) if (plan.changes.has(cluster.name)) follow(endpoints, cluster.needs);
      return endpoints.isOwing;
    },
    noteOfferedAgain(clusters) {
      const endpoints = states.get(types.endpoint);
      if (endpoints) for (const { needs } of clusters) follow(endpoints, needs);
      return endpoints?.isOwing === true;
    },
    noteEndpoints() {
      const endpoints = states.get(types.endpoint);
      if (endpoints?.resumed) follow(endpoints, needed(endpoints));
      earlier = undefined;
    },
  };
}

const none: readonly string[] = [];
