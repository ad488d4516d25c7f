/**
 * Objects in, durable objects out. What was acknowledged is on disk; what is visible was acknowledged. Every write
 * names the version that it replaces, so that of two writers one is told. Versions only grow.
 */
import { setImmediate } from "node:timers/promises";
import { FairleadError, type Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { StoreFile } from "./store-file.ts";

export interface StoreEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** `group/plural`. */
  readonly resource: string;
  readonly key: string;
  readonly version: number;
  /** What is there now; for DELETED what was there last, with the version of the deletion. */
  readonly object: KubeObject;
  readonly before: KubeObject | undefined;
}

export interface Store {
  /** The version of the newest visible write. */
  readonly version: number;
  get(resource: string, key: string): KubeObject | undefined;
  /** In the order of their keys. */
  list(resource: string): readonly KubeObject[];
  /**
   * Writes the object, or deletes where it is undefined, if what is there has the expected version (undefined: nothing
   * is there). Resolves with the object as stored, or "changed" when somebody else was faster.
   */
  write(
    resource: string,
    key: string,
    expected: string | undefined,
    next: KubeObject | undefined,
  ): Promise<KubeObject | "changed">;
  /** Resolves when the writes under way have come to an end. */
  settled(): Promise<void>;
  subscribe(listener: (event: StoreEvent) => void): () => void;
  close(): Promise<void>;
}

interface Write {
  readonly resource: string;
  readonly key: string;
  readonly next: KubeObject | undefined;
  readonly version: number;
  readonly done: (error: unknown) => void;
}

export function createStore(file: StoreFile, log: Logger): Store {
  const visible = new Map<string, Map<string, KubeObject>>();
  const sorted = new Map<string, readonly KubeObject[]>();
  /** Accepted but not yet on disk; writers see them, readers do not. */
  const pending = new Map<string, KubeObject | undefined>();
  const listeners = new Set<(event: StoreEvent) => void>();
  let version = 0;
  let nextVersion = 0;
  let queue: Write[] = [];
  let running: Promise<void> | undefined;

  const tableOf = (resource: string): Map<string, KubeObject> => {
    let table = visible.get(resource);
    if (!table) {
      table = new Map();
      visible.set(resource, table);
    }
    return table;
  };
  for (const { resource, key, object } of file.objects) tableOf(resource).set(key, object);
  version = file.version;
  nextVersion = version;

  /** What a listener makes of it is no concern of the write, which is done. */
  const tell = (event: StoreEvent): void => {
    for (const listener of listeners)
      try {
        listener(event);
      } catch (error) {
        log.error(`a listener failed at ${event.resource} ${event.key}: ${FairleadError.from(error).message}`);
      }
  };

  const show = (write: Write): void => {
    const table = tableOf(write.resource);
    const before = table.get(write.key);
    if (write.next) table.set(write.key, write.next);
    else table.delete(write.key);
    sorted.delete(write.resource);
    version = write.version;
    const object = write.next ?? (before && withVersion(before, write.version));
    if (!object) return;
    const type = write.next === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED";
    tell({ type, resource: write.resource, key: write.key, version, object, before });
  };
  const drop = (path: string, next: KubeObject | undefined): void => {
    if (pending.get(path) === next) pending.delete(path);
  };
  const commitAll = async (): Promise<void> => {
    while (queue.length > 0) {
      await setImmediate();
      const batch = queue;
      queue = [];
      try {
        file.commit(batch, batch.at(-1)?.version ?? version);
        for (const write of batch) {
          drop(pathOf(write.resource, write.key), write.next);
          show(write);
          write.done(undefined);
        }
      } catch (error) {
        log.error(`the store could not write: ${FairleadError.from(error).message}`);
        // What waits behind was built upon what has just failed.
        const lost = [...batch, ...queue];
        queue = [];
        pending.clear();
        for (const write of lost) write.done(error);
      }
    }
  };

  return {
    get version() {
      return version;
    },
    get: (resource, key) => visible.get(resource)?.get(key),
    list(resource) {
      let items = sorted.get(resource);
      if (!items) {
        const table = visible.get(resource);
        items = table ? [...table.keys()].sort().flatMap((key) => table.get(key) ?? []) : [];
        sorted.set(resource, items);
      }
      return items;
    },
    async write(resource, key, expected, next) {
      const path = pathOf(resource, key);
      const head = pending.has(path) ? pending.get(path) : visible.get(resource)?.get(key);
      if (head?.metadata.resourceVersion !== expected) return "changed";
      nextVersion++;
      const object = next && withVersion(next, nextVersion);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const done = (error: unknown): void => (error === undefined ? resolve() : reject(error));
      queue.push({ resource, key, next: object, version: nextVersion, done });
      pending.set(path, object);
      running ??= commitAll().finally(() => {
        running = undefined;
      });
      await promise;
      return object ?? (head && withVersion(head, nextVersion)) ?? "changed";
    },
    async settled() {
      await running;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      await running;
      await file.close();
    },
  };
}

function withVersion(object: KubeObject, version: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

function pathOf(resource: string, key: string): string {
  return `${resource}|${key}`;
}
