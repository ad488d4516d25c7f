/** What every standalone controller is handed. */
import type { Collection } from "../collections/index.ts";
import type { KindRef, KubeClient } from "../kube/index.ts";
import type { Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

export interface ControllerContext {
  readonly client: KubeClient;
  /** All objects of a kind as last seen; the same collection for the same kind. */
  readonly objects: (kind: KindRef) => Collection<KubeObject>;
  readonly log: Logger;
  readonly random: () => number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Calls back for every member that is there now, and for each later change. */
export function follow(
  collection: Collection<KubeObject>,
  seen: (key: string, object: KubeObject | undefined, before: KubeObject | undefined) => void,
): void {
  collection.subscribe(seen);
  for (const key of collection.keys()) seen(key, collection.get(key), undefined);
}
