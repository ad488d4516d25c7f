/** Anything in, a KubeObject without managedFields out: the door through which every object enters. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { apiVersionOf, type KindRef } from "./kind.ts";

/** Undefined for what has no name: one broken object must not take its kind down. */
export function asObject(value: unknown, kind?: KindRef): KubeObject | undefined {
  if (!isRecord(value) || !isRecord(value.metadata)) return undefined;
  const { managedFields: _, ...metadata } = value.metadata;
  const { name, namespace } = metadata;
  if (typeof name !== "string" || name === "") return undefined;
  if (namespace !== undefined && typeof namespace !== "string") return undefined;
  // Items of a list carry neither field in Kubernetes' own answers.
  const apiVersion = typeof value.apiVersion === "string" ? value.apiVersion : kind && apiVersionOf(kind);
  const kindName = typeof value.kind === "string" ? value.kind : kind?.kind;
  if (apiVersion === undefined || kindName === undefined) return undefined;
  return { ...value, apiVersion, kind: kindName, metadata: { ...metadata, name } } as KubeObject;
}
