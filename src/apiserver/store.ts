/**
 * Objects in, durable objects out. What was acknowledged is on disk; what is visible was acknowledged. Every write
 * names the version that it replaces, so that of two writers one is told. Versions only grow.
 */
import { setImmediate } from "node:timers/promises";
import { FairleadError, type Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createSortedKeys, type SortedKeys } from "./sorted-keys.ts";
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
  /** The object as JSON. */
  readonly text: string;
}

export interface Store {
  /** The version of the newest visible write. */
  readonly version: number;
  /** Writes that are not on disk yet. */
  readonly waiting: number;
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

const maxBatch = 512;
const maxBatchBytes = 4 * 1024 * 1024;

interface Write {
  readonly resource: string;
  readonly key: string;
  readonly next: KubeObject | undefined;
  /** The same as JSON. */
  readonly text: string | undefined;
  readonly version: number;
  readonly done: (error: unknown) => void;
}

interface Table {
  readonly objects: Map<string, KubeObject>;
  readonly order: SortedKeys;
  /** Made when it is asked for; never changed, since readers keep it. */
  list: readonly KubeObject[] | undefined;
}

function put(table: Table, key: string, next: KubeObject | undefined): void {
  table.list = undefined;
  if (next) {
    table.objects.set(key, next);
    table.order.add(key);
  } else if (table.objects.delete(key)) table.order.remove(key);
}

export function createStore(file: StoreFile, log: Logger): Store {
  const visible = new Map<string, Table>();
  /** Accepted but not yet on disk; writers see them, readers do not. */
  const pending = new Map<string, KubeObject | undefined>();
  const listeners = new Set<(event: StoreEvent) => void>();
  let version = 0;
  let nextVersion = 0;
  const queue: Write[] = [];
  let running: Promise<void> | undefined;

  const tableOf = (resource: string): Table => {
    let table = visible.get(resource);
    if (!table) {
      table = { objects: new Map(), order: createSortedKeys(), list: undefined };
      visible.set(resource, table);
    }
    return table;
  };
  for (const { resource, key, object } of file.objects) put(tableOf(resource), key, object);
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
    const before = table.objects.get(write.key);
    put(table, write.key, write.next);
    version = write.version;
    const object = write.next ?? (before && withVersion(before, write.version));
    if (!object) return;
    const type = write.next === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED";
    // What was deleted lives on in the event that says so.
    const text = write.text ?? JSON.stringify(object);
    tell({ type, resource: write.resource, key: write.key, version, object, before, text });
  };
  const drop = (path: string, next: KubeObject | undefined): void => {
    if (pending.get(path) === next) pending.delete(path);
  };
  const commitAll = async (): Promise<void> => {
    while (queue.length > 0) {
      await setImmediate();
      const batch = queue.splice(0, batchLength(queue));
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
        const lost = [...batch, ...queue.splice(0)];
        pending.clear();
        for (const write of lost) write.done(error);
      }
    }
  };

  return {
    get version() {
      return version;
    },
    get waiting() {
      return pending.size;
    },
    get: (resource, key) => visible.get(resource)?.objects.get(key),
    list(resource) {
      const table = visible.get(resource);
      if (!table) return [];
      table.list ??= table.order.keys.flatMap((key) => table.objects.get(key) ?? []);
      return table.list;
    },
    async write(resource, key, expected, next) {
      const path = pathOf(resource, key);
      const head = pending.has(path) ? pending.get(path) : visible.get(resource)?.objects.get(key);
      if (head?.metadata.resourceVersion !== expected) return "changed";
      nextVersion++;
      const object = next && withVersion(next, nextVersion);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const done = (error: unknown): void => (error === undefined ? resolve() : reject(error));
      const text = object && JSON.stringify(object);
      queue.push({ resource, key, next: object, text, version: nextVersion, done });
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

/** What one transaction takes of those that wait: a few milliseconds' worth. */
function batchLength(queue: readonly Write[]): number {
  let [count, bytes] = [0, 0];
  for (const { text } of queue) {
    bytes += text?.length ?? 0;
    if (count > 0 && (count >= maxBatch || bytes > maxBatchBytes)) break;
    count++;
  }
  return count;
}

function withVersion(object: KubeObject, version: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

function pathOf(resource: string, key: string): string {
  return `${resource}|${key}`;
}
