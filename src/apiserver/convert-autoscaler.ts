/**
 * A HorizontalPodAutoscaler of one version in; of the other out. What the first version has no field for stands in
 * annotations there, as Kubernetes has it.
 */
import { isRecord, parseJson, readList, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

const [metricsNote, behaviorNote] = ["metrics", "behavior"].map(
  (name) => `autoscaling.alpha.kubernetes.io/${name}`,
) as [string, string];
type Fields = Readonly<Record<string, unknown>>;

const isAutoscaler = ({ kind, apiVersion }: KubeObject): boolean =>
  kind === "HorizontalPodAutoscaler" && apiVersion.startsWith("autoscaling/");

/** Undefined for all other kinds. */
export function convertAutoscaler(object: KubeObject, apiVersion: string): KubeObject | undefined {
  if (!isAutoscaler(object)) return undefined;
  return apiVersion === "autoscaling/v1" ? toFirst(object, apiVersion) : toSecond(object, apiVersion);
}

function toFirst(object: KubeObject, apiVersion: string): KubeObject {
  const { metrics, behavior, ...spec } = readRecord(object.spec);
  const { currentMetrics, conditions: _, ...status } = readRecord(object.status);
  const others = readList(metrics).filter((metric) => cpuTarget(metric) === undefined);
  const [target] = readList(metrics).flatMap((metric) => cpuTarget(metric) ?? []);
  const [current] = readList(currentMetrics).flatMap((metric) => cpuUse(metric, "current") ?? []);
  return {
    ...object,
    apiVersion,
    metadata: noted(object.metadata, [
      [metricsNote, others.length > 0 ? others : undefined],
      [behaviorNote, behavior],
    ]),
    spec: { ...spec, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) },
    status: { ...status, ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }) },
  };
}

function toSecond(object: KubeObject, apiVersion: string): KubeObject {
  const { targetCPUUtilizationPercentage: target, ...spec } = readRecord(object.spec);
  const { currentCPUUtilizationPercentage: current, ...status } = readRecord(object.status);
  const annotations = object.metadata.annotations ?? {};
  const others = readList(parsed(annotations[metricsNote]));
  const behavior = parsed(annotations[behaviorNote]);
  const metrics = [
    ...others,
    ...(target === undefined ? [] : [cpu({ target: { type: "Utilization", averageUtilization: target } })]),
  ];
  return {
    ...object,
    apiVersion,
    metadata: noted(object.metadata, [
      [metricsNote, undefined],
      [behaviorNote, undefined],
    ]),
    spec: { ...spec, ...(metrics.length > 0 ? { metrics } : {}), ...(isRecord(behavior) ? { behavior } : {}) },
    status: {
      ...status,
      ...(current === undefined ? {} : { currentMetrics: [cpu({ current: { averageUtilization: current } })] }),
    },
  };
}

const cpu = (fields: Fields): Fields => ({ type: "Resource", resource: { name: "cpu", ...fields } });

function cpuUse(metric: unknown, field: "target" | "current"): unknown {
  const { name, ...resource } = readRecord(readRecord(metric).resource);
  return name === "cpu" ? readRecord(resource[field]).averageUtilization : undefined;
}

const cpuTarget = (metric: unknown): unknown => cpuUse(metric, "target");

/** Somebody may have written it by hand. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : parseJson(text);
  } catch {
    return undefined;
  }
}

function noted(
  metadata: KubeObject["metadata"],
  notes: readonly (readonly [string, unknown])[],
): KubeObject["metadata"] {
  const { annotations, ...rest } = metadata;
  const names = new Set(notes.map(([name]) => name));
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !names.has(name));
  const added = notes.flatMap(([name, value]) => (value === undefined ? [] : [[name, JSON.stringify(value)] as const]));
  const all = Object.fromEntries([...kept, ...added]);
  return Object.keys(all).length > 0 ? { ...rest, annotations: all } : rest;
}
