/**
 * Clusters and endpoints as a proxy is sent them in; the endpoints that clusters wait for out. As in Envoy, a cluster that
 * is new or changed waits until endpoints come after it, even the same as before, and over the end of a stream.
 */

export interface Waiting {
  /** A cluster has come that is not the one that was there, with the names of its endpoints. */
  cluster(name: string, endpoints: Iterable<string>): void;
  gone(cluster: string): void;
  /** These have come, or are said not to be there. */
  endpoints(name: string): void;
  /** Endpoints were refused: whoever waits for any goes on with what it has. */
  end(): void;
  /** Names of endpoints. */
  awaited(): ReadonlySet<string>;
}

export function createWaiting(): Waiting {
  const clusters = new Map<string, ReadonlySet<string>>();
  return {
    cluster(name, endpoints) {
      clusters.set(name, new Set(endpoints));
      if (clusters.get(name)?.size === 0) clusters.delete(name);
    },
    gone: (cluster) => void clusters.delete(cluster),
    endpoints(name) {
      for (const [cluster, endpoints] of clusters) if (endpoints.has(name)) clusters.delete(cluster);
    },
    end: () => clusters.clear(),
    awaited: () => new Set(clusters.values().flatMap((endpoints) => endpoints.values())),
  };
}
