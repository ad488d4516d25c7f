/**
 * The journals of dead runners and the Leases of Pods in; what such a runner has left removed out, once no Pod is its any
 * longer. Until then its process and proxy go on serving: they are in everybody's endpoints.
 */
import type { KubeClient } from "../kube/index.ts";
import { type Logger, type Owner, wait } from "../lib/index.ts";
import { objectKey } from "../model/index.ts";
import { deadPages } from "./journal.ts";
import { leases, pods, runnerAnnotation } from "./kinds.ts";
import { removeLeftovers } from "./leftovers.ts";
import { holderOf, runnerIdentity } from "./workload/pod.ts";

export interface AbandonedOptions {
  readonly runDir: string;
  readonly client: KubeClient;
  readonly log: Logger;
}

/** Long enough for every proxy to hear that a Pod is gone, which it may have to connect again for. */
const lookMs = 15_000;

/** For as long as the mesh is there; what had no Pod at two looks in turn is removed. */
export async function sweepAbandoned(
  options: AbandonedOptions,
  signal: AbortSignal,
  everyMs: number = lookMs,
): Promise<void> {
  const { runDir, log } = options;
  let before: ReadonlySet<string> = new Set();
  const pause = (): Promise<void> => wait(everyMs, signal).catch(() => {});
  for (await pause(); !signal.aborted; await pause()) {
    const dead = deadPages(runDir).flatMap(({ isRunners, owner }) => (isRunners && owner ? [owner] : []));
    const isHeld = dead.length === 0 ? () => false : await heldRunners(options).catch(() => () => true);
    const gone = new Set(dead.filter((owner) => !isHeld(owner)).map(runnerIdentity));
    const stays = (owner: Owner | undefined): boolean => {
      const identity = owner ? runnerIdentity(owner) : "";
      return !gone.has(identity) || !before.has(identity);
    };
    if (dead.length > 0)
      await removeLeftovers(runDir, log, ({ owner }) => stays(owner)).catch((error: unknown) =>
        log.warn(`what dead runners left cannot be removed: ${String(error)}`),
      );
    before = gone;
  }
}

/** Says of an owner whether it still has a Pod. */
async function heldRunners({ client }: AbandonedOptions): Promise<(owner: Owner | undefined) => boolean> {
  const [allPods, allLeases] = await Promise.all([client.list(pods), client.list(leases)]);
  const holders = new Map(allLeases.items.map((lease) => [objectKey(lease.metadata), holderOf(lease)]));
  // Who deletes a Pod leaves its lease.
  const held = new Set(
    allPods.items.map(({ metadata: { namespace, annotations } }) =>
      holders.get(objectKey({ namespace, name: annotations?.[runnerAnnotation] ?? "" })),
    ),
  );
  return (owner) => owner !== undefined && held.has(runnerIdentity(owner));
}
