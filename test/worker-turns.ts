/**
 * Envoy's metrics in; how often its workers' event loops went round out. A worker with nothing to do makes a few turns a
 * second, one that spins makes hundreds of thousands, however slow the machine. Needs `enableDispatcherStats`.
 */
export function workerTurns(metrics: string): number {
  const counts = [...metrics.matchAll(/^envoy_\S*worker_\S*dispatcher_loop_duration_us_count\S* (\d+)$/gm)];
  if (counts.length === 0) throw new Error("Envoy does not count the turns of its loops");
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** A spinning loop passes this in a fraction of a second. */
export const fewTurns = 2_000;
