/** The shape that every Kubernetes object has; what is inside `spec` and `status` is unknown until a schema accepts it. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Under a symbol, so that it is in no text that is made of an object, nor in one that is sent back. */
export const lastWriter: unique symbol = Symbol("last writer");

/** Who wrote an object last, as the API notes it: a program (`kubectl-edit`), and how (`Update`, `Apply`). */
export interface Writer {
  readonly manager: string;
  readonly operation: string;
}

export interface ObjectMeta {
  readonly [lastWriter]?: Writer;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/**
 * What names an object of a known kind. Plans that become text have this of an object, not its `meta`: that has labels and
 * annotations, in which `kubectl apply` keeps the whole object once more.
 */
export interface ObjectId {
  readonly name: string;
  readonly namespace: string;
}

export const objectId = ({ name, namespace }: ObjectId): ObjectId => ({ name, namespace });

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** A typed config object: an Istio or Gateway API kind whose spec has been decoded. */
export interface Config<Spec> {
  readonly kind: string;
  readonly meta: ObjectMeta & { readonly namespace: string };
  readonly spec: Spec;
}

/** `namespace/name`, or the bare name for cluster-scoped objects: the key in every collection of objects. */
export function objectKey(meta: { readonly name: string; readonly namespace?: string | undefined }): string {
  return meta.namespace === undefined || meta.namespace === "" ? meta.name : `${meta.namespace}/${meta.name}`;
}

/** How an object is called in messages and provenance: `VirtualService/ns/name`. */
export function objectName(
  kind: string,
  meta: { readonly name: string; readonly namespace?: string | undefined },
): string {
  return `${kind}/${objectKey(meta)}`;
}

/** Oldest first, ties by name, then namespace: Istio's order of precedence. No timestamp counts as oldest. */
export function compareAge(a: ObjectMeta, b: ObjectMeta): number {
  const [x, y] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""];
  if (x !== y) return x < y ? -1 : 1;
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  const [m, n] = [a.namespace ?? "", b.namespace ?? ""];
  return m < n ? -1 : m > n ? 1 : 0;
}
