/** Kubernetes objects as they come from a watch or a file in; one keyed source per kind out. */
import type { Collection, Graph, Source } from "../collections/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";

/** The mesh-wide configuration as its owner wrote it, under the one key `mesh`. */
export const meshConfigKey = "mesh";

export interface Inputs {
  /** The source of one kind; the group tells Istio's Gateway from the Gateway API's. Made when first asked for. */
  source(group: string, kind: string): Source<KubeObject>;
  /** MeshConfig before defaults (key `meshConfigKey`). */
  readonly meshConfig: Source<Readonly<Record<string, unknown>>>;
  put(object: KubeObject): void;
  remove(object: KubeObject): void;
}

export type ObjectsOf = (group: string, kind: string) => Collection<KubeObject>;

export function createInputs(graph: Graph): Inputs {
  const sources = new Map<string, Source<KubeObject>>();
  const source = (group: string, kind: string): Source<KubeObject> => {
    const id = `${group}/${kind}`;
    let found = sources.get(id);
    if (!found) {
      found = graph.source<KubeObject>(id, { describe: (key) => `${kind}/${key}` });
      sources.set(id, found);
    }
    return found;
  };
  const sourceOf = (object: KubeObject): Source<KubeObject> => source(groupOf(object), object.kind);
  return {
    source,
    meshConfig: graph.source("MeshConfig", { describe: () => "MeshConfig" }),
    put: (object) => sourceOf(object).set(objectKey(object.metadata), object),
    remove: (object) => sourceOf(object).delete(objectKey(object.metadata)),
  };
}

/** API group of an object, empty for the core group. */
export function groupOf(object: KubeObject): string {
  const slash = object.apiVersion.indexOf("/");
  return slash < 0 ? "" : object.apiVersion.slice(0, slash);
}
