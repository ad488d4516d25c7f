/** A request for objects that are made when they are asked for in; these objects out. */
import type { RateMeter } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { apiServices } from "./computed/api-services.ts";
import { apiServiceKind, computedKinds, nodeMetricsKind } from "./computed/kinds.ts";
import { nodeMetrics } from "./computed/node-metrics.ts";
import { podMetrics } from "./computed/pod-metrics.ts";
import type { Parts } from "./context.ts";
import { coreKinds } from "./core-kinds.ts";
import { failure, notFound } from "./failure.ts";
import { type ApiKind, resourceOf } from "./kind.ts";
import type { Pace } from "./pace.ts";
import { selected } from "./read.ts";
import type { ResourceRequest } from "./request.ts";
import { selectorOf } from "./selectors.ts";

export interface ComputedParts extends Parts {
  readonly machine: RateMeter;
}

export const isComputed = (kind: ApiKind): boolean => computedKinds.includes(kind);

/** One, where it was asked for by its name; else all that are selected. */
export async function computedObjects(
  parts: ComputedParts,
  request: ResourceRequest,
  pace: Pace,
): Promise<readonly KubeObject[]> {
  const { kind, name } = request;
  const isOne = name !== undefined && request.verb === "get";
  const made =
    kind === apiServiceKind
      ? await chosen(apiServices(parts.registry.kinds, sinceOf(parts)), request, kind, pace)
      : await metricsOf(parts, request, pace);
  if (isOne && made.length === 0) throw notFound(kind, name);
  return made;
}

const originals: ReadonlyMap<string, ApiKind> = new Map(
  coreKinds.filter(({ group }) => group === "").map((kind) => [kind.plural, kind]),
);

/** Of what is measured, by the rules of what it is: a Pod's labels, and its own fields. */
async function metricsOf(parts: ComputedParts, request: ResourceRequest, pace: Pace): Promise<readonly KubeObject[]> {
  const kind = originals.get(request.kind.plural);
  if (!kind) throw failure("NotFound", "the server could not find the requested resource");
  const objects = await chosen(parts.store.list(resourceOf(kind)), request, kind, pace);
  return request.kind === nodeMetricsKind ? nodeMetrics(parts.machine, objects, parts.now) : podMetrics(parts, objects);
}

function chosen(
  all: readonly KubeObject[],
  { verb, name, namespace, query }: ResourceRequest,
  kind: ApiKind,
  pace: Pace,
): Promise<readonly KubeObject[]> {
  const matches = selectorOf(kind, query, namespace);
  return pace.run(selected(all, (one) => (verb !== "get" || one.metadata.name === name) && matches(one)));
}

/** Since there has been an API here. */
function sinceOf({ store, now }: Parts): string {
  const first = store.get("/namespaces", "kube-system") ?? store.get("/namespaces", "default");
  return first?.metadata.creationTimestamp ?? now().toISOString();
}
