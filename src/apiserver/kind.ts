/** What the API knows of a kind that it serves: names, scope, where its schema is, how it is shown. */
import type { KubeObject } from "../model/index.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0 is shown always, 1 with `-o wide`. */
  readonly priority: number;
  readonly cell: (object: KubeObject, now: Date) => unknown;
}

/** Where the numbers of its `scale` are, as steps from the object. */
export interface ScalePaths {
  readonly wanted: readonly string[];
  readonly current: readonly string[];
  readonly selector: readonly string[] | undefined;
}

export interface ApiKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** Status is written through its own path only. */
  readonly status: boolean;
  readonly subresources: readonly string[];
  /** What the definition of a custom kind says of its scale. */
  readonly scale?: ScalePaths | undefined;
  /** A PUT to a name that is not there makes it, for those who may create. */
  readonly createOnUpdate: boolean;
  /** Kubernetes counts changes of the spec in metadata.generation for these. */
  readonly generation: boolean;
  readonly columns: readonly Column[];
  /** Sent as a Warning header with each write. */
  readonly warning: string | undefined;
  /** Name of the definition among Kubernetes' own, or the schema of a CustomResourceDefinition. */
  readonly schema: { readonly definition: string } | { readonly custom: JsonSchema };
}

export const standardVerbs: readonly string[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** Subresources of Pods that are not looked up but carried to whoever runs the Pod. */
export const podStreams: readonly string[] = ["attach", "exec", "log", "portforward"];

/** What can be done with a subresource; only the few that change an object as a whole read it, too. */
export function subresourceVerbs(subresource: string): readonly string[] {
  if (subresource === "token" || subresource === "eviction") return ["create"];
  if (subresource === "finalize") return ["update"];
  if (subresource === "log") return ["get"];
  if (podStreams.includes(subresource)) return ["create", "get"];
  return ["get", "patch", "update"];
}

export function resourceOf(kind: { readonly group: string; readonly plural: string }): string {
  return `${kind.group}/${kind.plural}`;
}

export function apiVersionOf(kind: { readonly group: string; readonly version: string }): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}
