/** What statuses should say in; the objects' `.status` in the API, written only where it says something else, out. */
import { type Collection, sameData } from "../../collections/index.ts";
import type { KindRef, KubeClient } from "../../kube/index.ts";
import { type Logger, type QueueMeter, readRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { ObjectStatus } from "../../translate/index.ts";
import { runKeyedWork, statusWritesPerSecond } from "./keyed-work.ts";
import { mergePatch } from "./merge-patch.ts";
import { settleStatus } from "./settle-status.ts";

export interface StatusWriterOptions {
  readonly client: KubeClient;
  /** By `Kind/namespace/name`. */
  readonly statuses: Collection<ObjectStatus>;
  /** The kinds that have statuses there, and their objects as the API has them. */
  readonly kinds: readonly { readonly ref: KindRef; readonly objects: Collection<KubeObject> }[];
  readonly now: () => Date;
  readonly log: Logger;
  readonly meter?: QueueMeter;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Told after each write; tests count with it. */
  readonly onWrite?: (key: string) => void;
}

export function runStatusWriter(options: StatusWriterOptions): void {
  const { statuses, client, signal } = options;
  const byKind = new Map(options.kinds.map((kind) => [kind.ref.kind, kind]));
  /** What was last asked for and how the API stored it: where it fills something in, we must not write for ever. */
  const stored = new Map<string, { readonly asked: unknown; readonly status: unknown }>();

  const work = async (id: string, turn: () => Promise<void>): Promise<void> => {
    const ours = statuses.get(id);
    const kind = byKind.get(id.slice(0, id.indexOf("/")));
    const object = kind?.objects.get(id.slice(id.indexOf("/") + 1));
    if (!kind || !object || !ours) {
      stored.delete(id);
      return;
    }
    const current = readRecord(object.status);
    const last = stored.get(id);
    if (last && sameData(last.asked, ours.status) && sameData(last.status, current)) return;
    const settled = settleStatus(
      current,
      ours.status,
      options
        .now()
        .toISOString()
        .replace(/\.\d+Z$/, "Z"),
    );
    if (sameStatus(settled, current)) return;
    const { name, namespace, resourceVersion } = object.metadata;
    const patch = { metadata: { resourceVersion }, status: mergePatch(current, settled) };
    await turn();
    const written = await client.patch(kind.ref, { name, namespace }, "merge", patch, {
      subresource: "status",
      signal,
    });
    stored.set(id, { asked: ours.status, status: readRecord(written.status) });
    options.onWrite?.(id);
  };
  const queue = runKeyedWork({ ...options, name: "status of", perSecond: statusWritesPerSecond, work });

  const stops = [
    statuses.subscribe((id) => queue.due(id)),
    ...options.kinds.map(({ ref, objects }) =>
      // Also when somebody else changed it: what they wrote may not be true.
      objects.subscribe((key, now) => now && queue.due(`${ref.kind}/${key}`)),
    ),
  ];
  const end = (): void => {
    for (const stop of stops) stop();
  };
  signal.addEventListener("abort", end, { once: true });
  for (const id of statuses.keys()) queue.due(id);
}

/** An empty list and none say the same. */
function sameStatus(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const told = (status: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(status).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
    );
  return sameData(told(a), told(b));
}
