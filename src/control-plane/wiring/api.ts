/** Access to a Kubernetes API in; its objects as collections that follow it, and what writes back to it, out. */
import { hostname } from "node:os";
import { createGraph, type Graph } from "../../collections/index.ts";
import {
  createEventRecorder,
  createHttpSource,
  createKubeClient,
  type EventRecorder,
  type KubeClient,
} from "../../kube/index.ts";
import type { Metrics } from "../../ops/index.ts";
import type { DiscoveryOptions } from "../discovery-options.ts";
import { measureQueues, type QueueMeters } from "../queue-metrics.ts";
import { type WatchedObjects, watchObjects } from "../watched-kinds.ts";

export type ApiOptions = Pick<
  DiscoveryOptions,
  "access" | "cluster" | "identity" | "namespace" | "log" | "now" | "random" | "overload"
>;

export interface Api {
  readonly graph: Graph;
  readonly client: KubeClient;
  readonly recorder: EventRecorder;
  readonly watched: WatchedObjects;
  /** Of work that the API brings, and of work that is written back to it. */
  readonly queues: QueueMeters;
  close(): void;
}

export function followApi(options: ApiOptions, metrics: Metrics): Api {
  const { log, now, random } = options;
  const graph = createGraph({
    onFault(what, error) {
      metrics.count("fairlead_render_faults");
      log.error(`${what} was left out: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    },
  });
  const client = createKubeClient(options.access);
  const recorder = createEventRecorder({
    ...{ client, now, log: log.scope("events"), random },
    ...{ component: "fairlead", host: hostname() },
  });
  tellShortages(options, recorder);
  const queues = measureQueues(metrics);
  const inCluster = { cluster: options.cluster };
  // There from the start, so that none can be told from not asked.
  metrics.count("controller_sync_errors_total", inCluster, 0);
  const source = createHttpSource({
    ...{ graph, client, log: log.scope("kube"), random, narrow: true },
    meter: queues(options.cluster),
    onFailure: () => metrics.count("controller_sync_errors_total", inCluster),
  });
  return {
    ...{ graph, client, recorder, queues },
    watched: watchObjects(source),
    close() {
      source.close();
      client.close();
    },
  };
}

/** As Events of this Pod. */
function tellShortages({ overload, identity, namespace }: ApiOptions, recorder: EventRecorder): void {
  const self = { apiVersion: "v1", kind: "Pod", metadata: { name: identity, namespace } };
  overload?.onBegin((cause, message) => {
    const reason = cause === "memory" ? "MemoryPressure" : "DescriptorPressure";
    recorder.record(self, "Warning", reason, message);
  });
}
