/** Objects in memory as ObjectSource: for `render`, `analyze` and tests. What is applied later shows up as a watch would show it. */
import type { Graph, Source } from "../collections/index.ts";
import { type KubeObject, matchesRequirements, objectKey, objectName, parseLabelSelector } from "../model/index.ts";
import { apiVersionOf, type KindRef } from "./kind.ts";
import { asObject } from "./narrow.ts";
import type { ObjectSource, WatchScope } from "./object-source.ts";

export interface MemorySource extends ObjectSource {
  /** Creates or replaces; all of them are one change. */
  apply(objects: Iterable<KubeObject>): void;
  remove(object: KubeObject): void;
}

interface Watched {
  readonly kind: KindRef;
  readonly accepts: (object: KubeObject) => boolean;
  readonly source: Source<KubeObject>;
}

export function createMemorySource(options: {
  readonly graph: Graph;
  readonly objects?: Iterable<KubeObject>;
}): MemorySource {
  const { graph } = options;
  /** All objects, also of kinds that nobody watches yet, by `group/Kind`, then by key. */
  const stored = new Map<string, Map<string, KubeObject>>();
  const watches = new Map<string, Set<Watched>>();

  const setIn = (watched: Watched, object: KubeObject): void => {
    const served = asServed(watched.kind, object);
    const key = objectKey(served.metadata);
    if (watched.accepts(served)) watched.source.set(key, served);
    else watched.source.delete(key);
  };
  const store = (object: KubeObject): void => {
    const narrowed = asObject(object);
    if (!narrowed) return;
    const name = kindName(narrowed);
    let objects = stored.get(name);
    if (!objects) {
      objects = new Map();
      stored.set(name, objects);
    }
    objects.set(objectKey(narrowed.metadata), narrowed);
    for (const watched of watches.get(name) ?? []) setIn(watched, narrowed);
  };

  const source: MemorySource = {
    watchKind(kind, scope = {}) {
      const name = `${kind.group}/${kind.kind}`;
      const watched: Watched = {
        kind,
        accepts: scopeFilter(scope),
        source: graph.source<KubeObject>(kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`, {
          describe: (_key, object) => objectName(kind.kind, object.metadata),
        }),
      };
      const group = watches.get(name) ?? new Set();
      watches.set(name, group.add(watched));
      graph.change(() => {
        for (const object of stored.get(name)?.values() ?? []) setIn(watched, object);
      });
      return { objects: watched.source, synced: Promise.resolve(), served: true, stop: () => group.delete(watched) };
    },
    apply(objects) {
      graph.change(() => {
        for (const object of objects) store(object);
      });
    },
    remove(object) {
      const key = objectKey(object.metadata);
      stored.get(kindName(object))?.delete(key);
      graph.change(() => {
        for (const watched of watches.get(kindName(object)) ?? [])
          watched.source.delete(objectKey(asServed(watched.kind, object).metadata));
      });
    },
    close: () => watches.clear(),
  };
  source.apply(options.objects ?? []);
  return source;
}

function kindName(object: KubeObject): string {
  const at = object.apiVersion.indexOf("/");
  return `${at < 0 ? "" : object.apiVersion.slice(0, at)}/${object.kind}`;
}

/** As the API would serve it: in the asked version, and in a namespace where the kind has one. */
function asServed(kind: KindRef, object: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(kind);
  const { namespace, ...metadata } = object.metadata;
  if (!kind.namespaced)
    return namespace === undefined && object.apiVersion === apiVersion ? object : { ...object, apiVersion, metadata };
  if (namespace !== undefined && namespace !== "" && object.apiVersion === apiVersion) return object;
  return { ...object, apiVersion, metadata: { ...metadata, namespace: namespace || "default" } };
}

function scopeFilter(scope: WatchScope): (object: KubeObject) => boolean {
  const labels = parseLabelSelector(scope.labelSelector ?? "");
  const names = (scope.fieldSelector ?? "")
    .split(",")
    .flatMap((part) => (part.startsWith("metadata.name=") ? [part.slice("metadata.name=".length)] : []));
  return (object) =>
    (!scope.namespace || object.metadata.namespace === scope.namespace) &&
    names.every((name) => object.metadata.name === name) &&
    !("error" in labels) &&
    matchesRequirements(labels, object.metadata.labels);
}
