/** Parts of resources, which count for themselves, in; istiod's figures of its xDS cache, summed up at each scrape, out. */
import type { Metrics } from "../ops/index.ts";
import type { ControlledSource } from "./source/resource-source.ts";

export function measureParts(metrics: Metrics, resources: Pick<ControlledSource, "parts">): void {
  const hits = createTotal(metrics, "xds_cache_reads", "hit");
  const misses = createTotal(metrics, "xds_cache_reads", "miss");
  // istiod's word for what goes because of a change; nothing goes for want of room here.
  const evictions = createTotal(metrics, "xds_cache_evictions", "clear");
  metrics.onScrape(() => {
    const sums = { entries: 0, hits: 0, computed: 0, dropped: 0, lookups: 0 };
    for (const part of resources.parts.values()) {
      sums.entries += part.entries;
      sums.hits += part.hits;
      sums.computed += part.computed;
      sums.dropped += part.dropped;
      sums.lookups += part.lookups;
    }
    metrics.set("xds_cache_size", sums.entries);
    metrics.set("xds_cache_dependent_config_size", sums.lookups);
    hits(sums.hits);
    misses(sums.computed);
    evictions(sums.dropped);
  });
}

/** A counter that is told its total, not its steps. */
function createTotal(metrics: Metrics, name: string, type: string): (total: number) => void {
  const labels = { type };
  let told = 0;
  return (total) => {
    metrics.count(name, labels, total - told);
    told = total;
  };
}
