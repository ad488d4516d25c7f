/** The label and field selectors of a request in, a predicate over objects out. */
import { type KubeObject, matchesRequirements, parseLabelSelector } from "../model/index.ts";
import { at } from "./access.ts";
import { failure } from "./failure.ts";
import type { ApiKind } from "./kind.ts";

const everywhere = ["metadata.name", "metadata.namespace"];

/** What Kubernetes lets clients select by, per kind. */
const fields: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "/Pod",
    [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName",
    ],
  ],
  [
    "/Event",
    [
      "involvedObject.kind",
      "involvedObject.namespace",
      "involvedObject.name",
      "involvedObject.uid",
      "involvedObject.apiVersion",
      "involvedObject.resourceVersion",
      "involvedObject.fieldPath",
      "reason",
      "reportingComponent",
      "source",
      "type",
    ],
  ],
  ["/Secret", ["type"]],
  ["/Namespace", ["status.phase"]],
  ["/Node", ["spec.unschedulable"]],
  ["/Service", ["spec.clusterIP", "spec.type"]],
  ["apps/ReplicaSet", ["status.replicas"]],
  ["batch/Job", ["status.successful"]],
]);

export function selectorOf(
  kind: ApiKind,
  query: URLSearchParams,
  namespace: string | undefined,
): (object: KubeObject) => boolean {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  if ("error" in labels) throw failure("BadRequest", labels.error);
  const tests = fieldTests(kind, query.get("fieldSelector") ?? "");
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    matchesRequirements(labels, object.metadata.labels) &&
    tests.every((test) => test(object));
}

/** The one name that a field selector lets through, if it does: a role may be for that name alone. */
export function exactName(query: URLSearchParams): string | undefined {
  for (const part of (query.get("fieldSelector") ?? "").split(",")) {
    const [, name] = /^\s*metadata\.name\s*={1,2}\s*([^=!\s]+)\s*$/.exec(part) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}

function fieldTests(kind: ApiKind, text: string): readonly ((object: KubeObject) => boolean)[] {
  return text
    .split(",")
    .filter((part) => part.trim() !== "")
    .map((part) => {
      // Trimmed first: a pattern with room for blanks at its end would look at many of them once for each.
      const match = /^([^=!\s]+)\s*(==|=|!=)(.*)$/s.exec(part.trim());
      if (!match) throw failure("BadRequest", `invalid selector: '${part}'; can't understand '${part}'`);
      const [, field = "", operator, value = ""] = match;
      const wanted = value.trim();
      if (!everywhere.includes(field) && !fields.get(`${kind.group}/${kind.kind}`)?.includes(field))
        throw failure("BadRequest", `field label not supported: ${field}`);
      const path = field === "source" ? ["source", "component"] : field.split(".");
      return (object) => (String(at(object, ...path) ?? "") === wanted) === (operator !== "!=");
    });
}
