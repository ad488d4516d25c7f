/**
 * A Kubernetes API over HTTP as ObjectSource: list in pages, watch from there, go on where a watch ended, list again
 * when told that the version is gone. While the API cannot be reached the collections keep what they have.
 */
import type { Graph } from "../collections/index.ts";
import { createBackoff, FairleadError, type Logger, type QueueMeter, readRecord, wait } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createBatcher } from "./batcher.ts";
import type { KubeClient, ListAnswer } from "./client.ts";
import type { KindRef } from "./kind.ts";
import { narrowObject } from "./narrow-kinds.ts";
import type { ObjectSource, WatchedKind, WatchScope } from "./object-source.ts";
import { createReplica, type Replica } from "./replica.ts";
import { apiStatus } from "./status.ts";

export interface HttpSourceOptions {
  readonly graph: Graph;
  readonly client: KubeClient;
  readonly log: Logger;
  readonly random: () => number;
  /** Told of each list or watch that failed and is tried again; that a kind is not served, or a version gone, is no failure. */
  readonly onFailure?: () => void;
  /** Of the changes that wait to be applied. */
  readonly meter?: QueueMeter;
  /** Keeps of each object only what a control plane reads. */
  readonly narrow?: boolean;
  readonly pageSize?: number;
  /** Longest silence of a watch: Kubernetes sends a bookmark each minute. That the API itself has gone shows sooner, by pings. */
  readonly stallMs?: number;
  /** Longest wait between attempts. */
  readonly maxBackoffMs?: number;
}

export function createHttpSource(options: HttpSourceOptions): ObjectSource {
  const batcher = createBatcher(options.graph, options.meter);
  const all = new AbortController();
  return {
    watchKind(kind, scope = {}) {
      const replica = createReplica({ graph: options.graph, batcher, kind, narrow: options.narrow });
      const own = new AbortController();
      const signal = AbortSignal.any([all.signal, own.signal]);
      return follow({
        ...options,
        kind,
        scope,
        replica,
        signal,
        flush: () => batcher.flush(),
        stop: () => own.abort(),
      });
    },
    close: () => all.abort(),
  };
}

interface Follow extends HttpSourceOptions {
  readonly kind: KindRef;
  readonly scope: WatchScope;
  readonly replica: Replica;
  readonly signal: AbortSignal;
  readonly flush: () => void;
  readonly stop: () => void;
}

function follow(options: Follow): WatchedKind {
  const { replica, signal, log, kind } = options;
  const synced = Promise.withResolvers<void>();
  const backoff = createBackoff({ minMs: 200, maxMs: options.maxBackoffMs ?? 30_000, random: options.random });
  let served = true;

  const settle = (nowServed: boolean): void => {
    served = nowServed;
    options.flush();
    synced.resolve();
  };
  const step = async (): Promise<void> => {
    if (replica.version === undefined) {
      const list = await listAll(options);
      if (list.unreadable > 0) log.warn(`following ${kind.plural}: ${list.unreadable} cannot be read and are left out`);
      replica.replace(list.items, list.resourceVersion);
      log.debug(`following ${kind.plural}: ${list.items.length} listed`);
      settle(true);
    }
    for await (const event of options.client.watch(kind, {
      ...options.scope,
      ...(replica.version === undefined ? {} : { resourceVersion: replica.version }),
      stallMs: options.stallMs ?? 75_000,
      signal,
    })) {
      backoff.reset();
      if (!replica.apply(event)) log.warn(`following ${kind.plural}: a change cannot be read and is left out`);
      else if (log.isDebug()) log.debug(`following ${kind.plural}: ${event.type} ${nameOf(event.object)}`);
    }
  };
  const failed = (error: unknown): number => {
    const status = apiStatus(error);
    const { code, message } = FairleadError.from(error);
    // A silent watch is opened again at once; a gateway that says so by itself (504) is given time like any other error.
    if (code === "timeout" && status === undefined) return 0;
    if (status?.code === 410) {
      // As after every new start of the API: it is listed again.
      replica.expire();
      log.debug(`following ${kind.plural}: ${message}`);
    } else if (status?.code === 404) {
      // The CRD is not there (yet, or any more): the kind is off, everything else goes on.
      replica.replace([], "");
      replica.expire();
      settle(false);
    } else {
      options.onFailure?.();
      log.warn(`following ${kind.plural}: ${message}`);
    }
    return Math.max(backoff.nextMs(), status?.retryAfterMs ?? 0);
  };
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      const started = performance.now();
      const pauseMs = await step().then(
        // A server that ends every watch at once must not be asked in a tight loop.
        () => (performance.now() - started < 1000 ? backoff.nextMs() : 0),
        (error: unknown) => (signal.aborted ? 0 : failed(error)),
      );
      if (pauseMs > 0) await wait(pauseMs, signal).catch(() => {});
    }
  };
  void loop();

  return {
    objects: replica.objects,
    synced: synced.promise,
    get served() {
      return served;
    },
    stop: options.stop,
  };
}

async function listAll(options: Follow): Promise<Omit<ListAnswer, "continue">> {
  const items: KubeObject[] = [];
  let unreadable = 0;
  let next: string | undefined;
  for (;;) {
    const page = await options.client.list(options.kind, {
      ...options.scope,
      limit: options.pageSize ?? 500,
      continue: next,
      signal: options.signal,
    });
    // Page by page, so that a large kind is never held whole.
    for (const item of page.items) items.push(options.narrow ? narrowObject(item) : item);
    unreadable += page.unreadable;
    if (page.continue === undefined) return { items, unreadable, resourceVersion: page.resourceVersion };
    next = page.continue;
  }
}

/** `namespace/name`, for the log. */
function nameOf(object: unknown): string {
  const { namespace, name } = readRecord(readRecord(object)["metadata"]);
  return [namespace, name].filter((part) => typeof part === "string" && part !== "").join("/");
}
