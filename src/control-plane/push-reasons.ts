/** Objects as they are watched in; why the next push is made, by istiod's words for it, out. */
import { istioKinds } from "../model/index.ts";
import type { WatchedObjects } from "./watched-kinds.ts";

/** What else changes what proxies are sent, such as a proxy that was told other labels. */
const otherReason = "proxy";

const reasons: readonly (readonly [group: string, kind: string, reason: string])[] = [
  ["", "Service", "service"],
  ["discovery.k8s.io", "EndpointSlice", "endpoint"],
  ["", "Pod", "endpoint"],
  ["", "Namespace", "namespace"],
  ["", "Node", "endpoint"],
  ["", "Secret", "secret"],
  ["", "ConfigMap", "global"],
  ...istioKinds.map(({ group, kind }) => [group, kind, kind === "WorkloadEntry" ? "endpoint" : "config"] as const),
];

/** Each reason once since it was last asked; there is always one. */
export function createPushReasons({ objects }: Pick<WatchedObjects, "objects">): () => readonly string[] {
  const found = new Set<string>();
  for (const [group, kind, reason] of reasons) objects(group, kind).subscribe(() => void found.add(reason));
  return () => {
    const all = [...found];
    found.clear();
    return all.length > 0 ? all : [otherReason];
  };
}
