/** Anything in, a KubeObject with its last writer in place of managedFields out: the door through which every object enters. */
import { isRecord, objectLimits } from "../lib/index.ts";
import { type KubeObject, lastWriter } from "../model/index.ts";
import { apiVersionOf, type KindRef } from "./kind.ts";
import { writerOf } from "./last-writer.ts";

/**
 * How deep an answer may be nested: as deep as an API server stores. That is deeper than an object may be here, which is
 * looked at for each alone, so that one cannot make a whole list or watch unreadable.
 */
export const answerDepth = 20_000;

/** Undefined for what has no name, or is nested too deep: one broken object must not take its kind down. */
export function asObject(value: unknown, kind?: KindRef): KubeObject | undefined {
  if (!isRecord(value) || !isRecord(value.metadata)) return undefined;
  const { managedFields, ...metadata } = value.metadata;
  const { name, namespace } = metadata;
  if (typeof name !== "string" || name === "") return undefined;
  if (namespace !== undefined && typeof namespace !== "string") return undefined;
  // Items of a list carry neither field in Kubernetes' own answers.
  const apiVersion = typeof value.apiVersion === "string" ? value.apiVersion : kind && apiVersionOf(kind);
  const kindName = typeof value.kind === "string" ? value.kind : kind?.kind;
  if (apiVersion === undefined || kindName === undefined) return undefined;
  if (isDeeperThan({ ...value, metadata }, objectLimits.maxDepth)) return undefined;
  const writer = writerOf(managedFields);
  const own = writer ? { ...metadata, name, [lastWriter]: writer } : { ...metadata, name };
  return { ...value, apiVersion, kind: kindName, metadata: own } as KubeObject;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}
