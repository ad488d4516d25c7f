/** The columns of a Pod after its name, whose status is put together from its containers as kubectl's users know it. */
import type { KubeObject } from "../model/index.ts";
import { at, listAt, numberAt, textAt } from "./access.ts";
import { age } from "./age.ts";
import type { Column } from "./kind.ts";

const cell = (name: string, type: string, priority: number, value: Column["cell"]): Column => ({
  name,
  type,
  priority,
  cell: value,
});

export const podColumns: readonly Column[] = [
  cell(
    "Ready",
    "string",
    0,
    (o) => `${allContainers(o).filter((s) => at(s, "ready") === true).length}/${containerCount(o)}`,
  ),
  cell("Status", "string", 0, podStatus),
  cell("Restarts", "string", 0, (o) =>
    String(allContainers(o).reduce<number>((sum, s) => sum + (numberAt(s, "restartCount") ?? 0), 0)),
  ),
  cell("Age", "string", 0, (o, now) => age(o.metadata.creationTimestamp ?? "", now)),
  cell("IP", "string", 1, (o) => textAt(o, "status", "podIP") || "<none>"),
  cell("Node", "string", 1, (o) => textAt(o, "spec", "nodeName") || "<none>"),
  cell("Nominated Node", "string", 1, (o) => textAt(o, "status", "nominatedNodeName") || "<none>"),
  cell("Readiness Gates", "string", 1, (o) => readinessGates(o)),
];

/** Sidecars that are init containers with restartPolicy Always count like containers. */
function sidecarNames(o: KubeObject): ReadonlySet<string> {
  const found = listAt(o, "spec", "initContainers").filter((c) => textAt(c, "restartPolicy") === "Always");
  return new Set(found.map((c) => textAt(c, "name")));
}

function allContainers(o: KubeObject): readonly unknown[] {
  const sidecars = sidecarNames(o);
  const inits = listAt(o, "status", "initContainerStatuses").filter((s) => sidecars.has(textAt(s, "name")));
  return [...inits, ...listAt(o, "status", "containerStatuses")];
}

function containerCount(o: KubeObject): number {
  return listAt(o, "spec", "containers").length + sidecarNames(o).size;
}

function podStatus(o: KubeObject): string {
  if (o.metadata.deletionTimestamp !== undefined)
    return textAt(o, "status", "reason") === "NodeLost" ? "Unknown" : "Terminating";
  const waiting = listAt(o, "status", "containerStatuses").findLast((s) => containerReason(s) !== "");
  return containerReason(waiting) || textAt(o, "status", "reason") || textAt(o, "status", "phase") || "Unknown";
}

function containerReason(status: unknown): string {
  const terminated = at(status, "state", "terminated");
  const reason = textAt(status, "state", "waiting", "reason") || textAt(terminated, "reason");
  if (reason !== "" || terminated === undefined) return reason;
  const signal = numberAt(terminated, "signal");
  return signal ? `Signal:${signal}` : `ExitCode:${numberAt(terminated, "exitCode") ?? 0}`;
}

function readinessGates(o: KubeObject): string {
  const gates = listAt(o, "spec", "readinessGates").map((g) => textAt(g, "conditionType"));
  if (gates.length === 0) return "<none>";
  const met = listAt(o, "status", "conditions").filter(
    (c) => gates.includes(textAt(c, "type")) && textAt(c, "status") === "True",
  );
  return `${met.length}/${gates.length}`;
}
