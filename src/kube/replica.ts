/**
 * Lists and watch events of one kind in, a collection that converges to what the API holds out. Events may be
 * repeated, late, out of order or of an unknown type; a list is applied as its difference to what is here.
 */
import type { Graph, Source } from "../collections/index.ts";
import { type KubeObject, objectKey, objectName } from "../model/index.ts";
import type { Batcher } from "./batcher.ts";
import type { KindRef } from "./kind.ts";
import { asObject } from "./narrow.ts";
import { narrowObject, saysTheSame } from "./narrow-kinds.ts";
import type { WatchEvent } from "./watch-stream.ts";

export interface Replica {
  readonly objects: Source<KubeObject>;
  /** Where a watch goes on; undefined before the first list. */
  readonly version: string | undefined;
  replace(items: readonly KubeObject[], version: string): void;
  /** False where the event's object cannot be read: what is here of it stays. */
  apply(event: WatchEvent): boolean;
  /** The next thing has to be a list. */
  expire(): void;
}

export interface ReplicaOptions {
  readonly graph: Graph;
  readonly batcher: Batcher;
  readonly kind: KindRef;
  /** Keeps of each object only what a control plane reads. */
  readonly narrow?: boolean | undefined;
}

export function createReplica({ graph, batcher, kind, narrow = false }: ReplicaOptions): Replica {
  const objects = graph.source<KubeObject>(kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`, {
    describe: (_key, object) => objectName(kind.kind, object.metadata),
    equals: (a, b) => a === b || (sameVersion(a, b) && sameUid(a, b)) || (narrow && saysTheSame(a, b)),
  });
  let version: string | undefined;

  const put = (object: KubeObject): void => {
    const key = objectKey(object.metadata);
    const before = graph.untracked(() => objects.get(key));
    if (before && !sameUid(before, object)) objects.delete(key);
    else if (before && olderThan(object, before)) return;
    objects.set(key, object);
  };
  const remove = (object: KubeObject): void => {
    const key = objectKey(object.metadata);
    const before = graph.untracked(() => objects.get(key));
    // A late DELETED of an object whose name is in use again must not take its successor away.
    if (before && sameUid(before, object) && !olderThan(object, before)) objects.delete(key);
  };

  return {
    objects,
    get version() {
      return version;
    },
    replace(items, listVersion) {
      version = listVersion;
      batcher.add(() => {
        const present = new Set(items.map((item) => objectKey(item.metadata)));
        for (const key of graph.untracked(() => objects.keys())) if (!present.has(key)) objects.delete(key);
        for (const item of items) {
          const key = objectKey(item.metadata);
          const before = graph.untracked(() => objects.get(key));
          if (before && !sameUid(before, item)) objects.delete(key);
          objects.set(key, item);
        }
      });
    },
    apply(event) {
      if (event.type === "BOOKMARK") {
        version = later(version, versionOf(event.object));
        return true;
      }
      const whole = asObject(event.object, kind);
      if (!whole) return false;
      const object = narrow ? narrowObject(whole) : whole;
      if (event.type === "ADDED" || event.type === "MODIFIED") batcher.add(() => put(object));
      else if (event.type === "DELETED") batcher.add(() => remove(object));
      else return true;
      version = later(version, object.metadata.resourceVersion);
      return true;
    },
    expire() {
      version = undefined;
    },
  };
}

function sameVersion(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.resourceVersion !== undefined && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function sameUid(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}

function olderThan(a: KubeObject, b: KubeObject): boolean {
  const [x, y] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return x !== undefined && y !== undefined && compareVersions(x, y) < 0;
}

/** Versions only move forward, whatever a bookmark says. */
function later(now: string | undefined, next: string | undefined): string | undefined {
  if (next === undefined || next === "") return now;
  return now === undefined || compareVersions(now, next) < 0 ? next : now;
}

/** Resource versions are decimal numbers of any length; others are taken as newer. */
function compareVersions(a: string, b: string): number {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return -1;
  return a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length;
}

function versionOf(object: unknown): string | undefined {
  const metadata = (object as { metadata?: { resourceVersion?: unknown } } | null | undefined)?.metadata;
  return typeof metadata?.resourceVersion === "string" ? metadata.resourceVersion : undefined;
}
