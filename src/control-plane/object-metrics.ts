/** Objects as they are watched in; istiod's counts of what the API told, by kind and event, out. */
import { istioKinds } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { WatchedObjects } from "./watched-kinds.ts";

/** Kinds that services and endpoints are made from, with istiod's words for them. */
const registryKinds = [
  { group: "", kind: "Service", name: "Services", update: "svc" },
  { group: "discovery.k8s.io", kind: "EndpointSlice", name: "EndpointSlice", update: "eds" },
  { group: "", kind: "Pod", name: "Pods", update: undefined },
  { group: "", kind: "Node", name: "Nodes", update: undefined },
] as const;

/** Nothing is made from WorkloadGroups here, so they are not watched. */
const configKinds = istioKinds.filter(({ kind }) => kind !== "WorkloadGroup");

/** What was there at the start is not counted: it is no change. */
export function countObjects(metrics: Metrics, watched: Pick<WatchedObjects, "objects">): void {
  for (const { group, kind, name, update } of registryKinds)
    watched.objects(group, kind).subscribe((_key, now, before) => {
      metrics.count("pilot_k8s_reg_events", { type: name, event: eventOf(now, before) });
      if (update) metrics.count("pilot_inbound_updates", { type: update === "svc" && !now ? "svcdelete" : update });
    });
  for (const { group, kind } of configKinds)
    watched.objects(group, kind).subscribe((_key, now, before) => {
      metrics.count("pilot_k8s_cfg_events", { type: kind, event: eventOf(now, before) });
      metrics.count("pilot_inbound_updates", { type: "config" });
    });
}

const eventOf = (now: unknown, before: unknown): string => (!now ? "delete" : before ? "update" : "add");
