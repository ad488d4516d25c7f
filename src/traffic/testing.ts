/** For tests: a store whose clock they turn, and names of edges. */
import { latencyBoundsMs, requestCounts, type TrafficProtocol } from "../model/index.ts";
import type { EdgeName, Party } from "../read-api/index.ts";
import { createTrafficStore, type TrafficStore, type TrafficStoreOptions } from "./index.ts";

export interface TestStore {
  readonly store: TrafficStore;
  pass(ms: number): void;
}

export function testStore(limits: Pick<TrafficStoreOptions, "maxEdges" | "maxBytes"> = {}): TestStore {
  let atMs = 5000;
  const store = createTrafficStore({
    ...limits,
    now: () => new Date(Date.UTC(2026, 0, 1) + atMs),
    monotonicMs: () => atMs,
  });
  return {
    store,
    pass(ms) {
      atMs += ms;
    },
  };
}

export const party = (workload: string, namespace = "shop"): Party => ({
  namespace,
  workload,
  app: workload,
  version: "v1",
});

export function edge(source: Party, destination: Party, protocol: TrafficProtocol = "http"): EdgeName {
  const { workload: name, namespace } = destination;
  return {
    source,
    destination,
    protocol,
    service: { host: `${name}.${namespace}.svc.cluster.local`, name, namespace },
  };
}

/** Of so many requests, all of which took as long. */
export function requests(
  count: number,
  more: Partial<Record<(typeof requestCounts)[number], number>> = {},
  tookMs = 3,
) {
  const bucket = latencyBoundsMs.findIndex((bound) => tookMs <= bound);
  const place = bucket < 0 ? latencyBoundsMs.length : bucket;
  return [
    ...requestCounts.map((name) => (name === "requests" ? count : (more[name] ?? 0))),
    ...latencyBoundsMs.concat(0).map((_, i) => (i === place ? count : 0)),
  ];
}
