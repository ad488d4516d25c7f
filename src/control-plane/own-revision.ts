/**
 * An object of users in; out, whether this control plane is the one of several that writes its status and makes what it
 * needs. Every revision reads an object that names none, but two that write for it would undo each other's work.
 */
import type { Collection, Graph } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { ObjectStatus } from "../translate/index.ts";

export interface OwnRevisionOptions {
  readonly graph: Graph;
  readonly revision: string;
  readonly namespaces: Collection<KubeObject>;
  readonly mutating: Collection<KubeObject>;
  readonly validating: Collection<KubeObject>;
}

export type OwnRevision = (object: KubeObject) => boolean;

const [revisionLabel, tagLabel] = ["istio.io/rev", "istio.io/tag"];
/** Its label names the revision that is the default. */
export const defaultTagName = "istio-revision-tag-default";
const defaultValidatorName = "istiod-default-validator";

/** By the object's label, else its namespace's, else the default's: istiod's rule, so that either leaves the other's alone. */
export function createOwnRevision(options: OwnRevisionOptions): OwnRevision {
  const { graph, namespaces, mutating, validating } = options;
  const revision = options.revision || "default";
  const tags = graph.index(mutating, "tags of this revision", ({ metadata: { labels } }) => {
    const tag = labels?.[tagLabel];
    return tag !== undefined && labels?.[revisionLabel] === revision ? [tag] : [];
  });
  const answersTo = (name: string): boolean => name === revision || tags.get(name).length > 0;
  const isDefault = (): boolean =>
    answersTo("default") ||
    (mutating.get(defaultTagName) === undefined &&
      validating.get(defaultValidatorName)?.metadata.labels?.[revisionLabel] === revision);
  return ({ metadata }) => {
    const label = metadata.labels?.[revisionLabel];
    const namespace = namespaces.get(metadata.namespace ?? "");
    // What has no namespace is everybody's, and all say the same of it.
    if (label === undefined && namespace === undefined) return true;
    const name = label ?? namespace?.metadata.labels?.[revisionLabel] ?? "";
    return name === "" ? isDefault() : answersTo(name);
  };
}

/** Of statuses by `Kind/namespace/name` those of objects that are ours to write for. */
export function ownStatuses(
  graph: Graph,
  statuses: Collection<ObjectStatus>,
  kinds: ReadonlyMap<string, Collection<KubeObject>>,
  isOwn: OwnRevision,
): Collection<ObjectStatus> {
  return graph.derive("own statuses", statuses, (status, id) => {
    const at = id.indexOf("/");
    const object = kinds.get(id.slice(0, at))?.get(id.slice(at + 1));
    return object && isOwn(object) ? [[id, status]] : [];
  });
}
