/** Listeners of a Gateway and its ListenerSets in; those that cannot be told from an earlier one, and why, out. */
import { type Config, compareAge, type GatewayApiListener, objectKey } from "../../model/index.ts";

export interface ListenerGroup {
  readonly kind: "Gateway" | "ListenerSet";
  readonly meta: Config<unknown>["meta"];
  readonly listeners: readonly GatewayApiListener[];
}

export type ConflictReason = "ProtocolConflict" | "HostnameConflict";

/** By `Kind/namespace/name/listener`. The Gateway's own come first, then sets by age; the first to claim a port and host keeps it. */
export function conflictingListeners(groups: readonly ListenerGroup[]): ReadonlyMap<string, ConflictReason> {
  const order = [...groups].sort((a, b) =>
    a.kind === b.kind ? compareAge(a.meta, b.meta) : a.kind === "Gateway" ? -1 : 1,
  );
  const accepted: GatewayApiListener[] = [];
  const conflicts = new Map<string, ConflictReason>();
  for (const { kind, meta, listeners } of order) {
    for (const listener of listeners) {
      const prior = accepted.find((earlier) => !areDistinct(listener, earlier));
      if (prior) conflicts.set(`${kind}/${objectKey(meta)}/${listener.name ?? ""}`, reasonOf(listener, prior));
      else accepted.push(listener);
    }
  }
  return conflicts;
}

const isLayer4 = (protocol: string): boolean => protocol === "TCP" || protocol === "UDP";
const hasHosts = (protocol: string): boolean => protocol === "HTTP" || protocol === "HTTPS" || protocol === "TLS";

function areDistinct(a: GatewayApiListener, b: GatewayApiListener): boolean {
  if (a.port !== b.port) return true;
  const [p = "", q = ""] = [a.protocol, b.protocol];
  if ((isLayer4(p) && (isLayer4(q) || hasHosts(q))) || (hasHosts(p) && isLayer4(q))) return false;
  if (hasHosts(p) && hasHosts(q)) return (a.hostname || "*") !== (b.hostname || "*");
  return p !== q;
}

function reasonOf(a: GatewayApiListener, b: GatewayApiListener): ConflictReason {
  return isLayer4(a.protocol ?? "") || a.protocol !== b.protocol ? "ProtocolConflict" : "HostnameConflict";
}
