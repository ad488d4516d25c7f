/** What a person calls a workload, a service or a namespace in; whether an end of an edge is meant out. */
import { FairleadError } from "../../lib/index.ts";
import type { EdgeName } from "../../read-api/index.ts";
import type { Grouping } from "../../traffic/index.ts";

export interface Target {
  readonly by: Grouping;
  /** All of the kind where absent. */
  readonly name?: string;
  readonly namespace?: string;
}

/** kubectl's words; Deployments and their like are known by the name of what they run. */
const kinds: ReadonlyMap<string, Grouping> = new Map([
  ...(
    [
      "workload",
      "workloads",
      "wl",
      "deployment",
      "deployments",
      "deploy",
      "statefulset",
      "statefulsets",
      "sts",
    ] as const
  ).map((word) => [word, "workload"] as const),
  ...(["daemonset", "daemonsets", "ds"] as const).map((word) => [word, "workload"] as const),
  ...(["service", "services", "svc"] as const).map((word) => [word, "service"] as const),
  ...(["namespace", "namespaces", "ns"] as const).map((word) => [word, "namespace"] as const),
]);

/** `TYPE`, `TYPE/NAME` or `TYPE NAME`; NAME may have `.NAMESPACE` behind it. */
export function parseTarget(words: readonly string[], namespace?: string): Target {
  const [type = "", name, ...more] = words.flatMap((word) => word.split("/"));
  const by = kinds.get(type.toLowerCase());
  if (!by || name === "" || more.length > 0)
    throw new FairleadError("usage", `${JSON.stringify(words.join(" "))} names nothing that has requests`, {
      hint: "name workloads, services or namespaces, or one as deploy/reviews-v1, svc/reviews or ns/shop",
    });
  if (name === undefined) return { by, ...(namespace === undefined ? {} : { namespace }) };
  if (by === "namespace") return { by, name, namespace: name };
  const [own = "", of] = splitNamespace(name);
  const where = of ?? namespace;
  return { by, name: own, ...(where === undefined ? {} : { namespace: where }) };
}

function splitNamespace(name: string): readonly [string, string | undefined] {
  const at = name.indexOf(".");
  return at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1).replace(/\.svc(\..*)?$/, "")];
}

/** For `--from` and `--to`, where a bare name is a workload's. */
export function parseEnd(text: string, namespace?: string): Target {
  return parseTarget(text.includes("/") ? [text] : ["workload", text], namespace);
}

export function isMeant(
  { name, namespace }: Target,
  place: { readonly name: string; readonly namespace: string },
): boolean {
  return (name === undefined || name === place.name) && (namespace === undefined || namespace === place.namespace);
}

/** Of an edge, the end that calls or the one that is called. */
export function matchesEnd(target: Target, edge: EdgeName, end: "source" | "destination"): boolean {
  if (target.by === "service") return end === "destination" && isMeant(target, edge.service);
  const { workload, namespace } = edge[end];
  return isMeant(target, { name: target.by === "namespace" ? namespace : workload, namespace });
}
