/** The port through which objects come in, whatever they come from: one collection per watched kind. */
import type { Collection } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { KindRef } from "./kind.ts";

export interface WatchScope {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface WatchedKind {
  /** Keyed by `objectKey`. */
  readonly objects: Collection<KubeObject>;
  /** Resolves when the first full list is in, or when it is known that the API does not serve the kind. */
  readonly synced: Promise<void>;
  /** False while the API does not serve the kind. */
  readonly served: boolean;
  stop(): void;
}

export interface ObjectSource {
  watchKind(kind: KindRef, scope?: WatchScope): WatchedKind;
  close(): void;
}
