/** Queues of work, by name, in; istiod's figures of its controllers' queues out. */
import type { QueueMeter } from "../lib/index.ts";
import type { Metrics } from "../ops/index.ts";

/** A meter for the queue of that name; a later queue of the same name takes the place of the one before. */
export type QueueMeters = (queueID: string) => QueueMeter;

export function measureQueues(metrics: Metrics): QueueMeters {
  const depths = new Map<string, () => number>();
  metrics.onScrape(() => {
    for (const [queueID, depth] of depths) metrics.set("pilot_worker_queue_depth", depth(), { queueID });
  });
  return (queueID) => {
    const labels = { queueID };
    return {
      follow: (depth) => void depths.set(queueID, depth),
      waited: (ms) => metrics.observe("pilot_worker_queue_latency", ms / 1000, labels),
      worked: (ms) => metrics.observe("pilot_worker_queue_duration", ms / 1000, labels),
    };
  };
}
