/** Names of kinds in, URL paths of the Kubernetes API out. */

/** Which kind is meant, as the API spells it in URLs. */
export interface KindRef {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export function apiVersionOf(kind: { readonly group: string; readonly version: string }): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** Path of the collection, over all namespaces where none is given. */
export function collectionPath(kind: KindRef, namespace?: string): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${kind.plural}`;
}

export function objectPath(kind: KindRef, ref: ObjectRef, subresource?: string): string {
  const path = `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}
