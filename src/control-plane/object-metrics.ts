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

type Tell = (event: string, by: number) => void;

/** What is there at the start was added, as istiod sees it. */
export function countObjects(metrics: Metrics, { objects }: Pick<WatchedObjects, "objects">): void {
  const follow = (group: string, kind: string, tell: Tell): void => {
    const present = objects(group, kind);
    if (present.size > 0) tell("add", present.size);
    present.subscribe((_key, now, before) => tell(eventOf(now, before), 1));
  };
  for (const { group, kind, name, update } of registryKinds)
    follow(group, kind, (event, by) => {
      metrics.count("pilot_k8s_reg_events", { type: name, event }, by);
      const type = update === "svc" && event === "delete" ? "svcdelete" : update;
      if (type) metrics.count("pilot_inbound_updates", { type }, by);
    });
  for (const { group, kind } of istioKinds)
    follow(group, kind, (event, by) => {
      metrics.count("pilot_k8s_cfg_events", { type: kind, event }, by);
      metrics.count("pilot_inbound_updates", { type: "config" }, by);
    });
}

const eventOf = (now: unknown, before: unknown): string => (!now ? "delete" : before ? "update" : "add");
