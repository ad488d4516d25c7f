/** Events in the store in, the old ones gone: Kubernetes keeps them for an hour, so that they do not fill the disk. */
import { type KubeObject, objectKey } from "../model/index.ts";
import { textAt } from "./access.ts";
import type { Store } from "./store.ts";

const keepMs = 3600_000;

export async function expireEvents(store: Store, now: Date): Promise<void> {
  const old = store.list("/events").filter((event) => now.getTime() - lastSeen(event) > keepMs);
  await Promise.all(
    old.map((event) => store.write("/events", objectKey(event.metadata), event.metadata.resourceVersion, undefined)),
  );
}

function lastSeen(event: KubeObject): number {
  const times = [textAt(event, "lastTimestamp"), textAt(event, "eventTime"), event.metadata.creationTimestamp ?? ""];
  return Math.max(...times.map((time) => Date.parse(time)).filter((time) => !Number.isNaN(time)), 0);
}
