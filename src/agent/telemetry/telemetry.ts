/** The proxy's node in; where its Envoy reports requests, what of it is asked of the control plane, and metrics out. */
import type { Logger } from "../../lib/index.ts";
import { canonicalName, canonicalRevision } from "../../model/index.ts";
import type { Route } from "../../rpc/index.ts";
import type { Node } from "../bootstrap/node.ts";
import type { OwnSubscription } from "../own-subscription.ts";
import type { EdgeSource } from "./edge-counts.ts";
import type { Named } from "./labels.ts";
import { createPulledEdges } from "./pulled-edges.ts";
import { createMetricsReceiver } from "./receiver.ts";
import { createRequestCounter } from "./request-counter.ts";
import { createTaps, type Taps } from "./tap.ts";
import { createWorkloadTable } from "./workload-table.ts";

export interface Telemetry {
  readonly routes: readonly Route[];
  readonly subscription: OwnSubscription;
  /** In Prometheus' text format, in pieces. */
  metrics(): Iterable<string>;
  /** What the control plane is told of requests. */
  readonly edges: EdgeSource;
  /** Where it looks at single ones. */
  readonly taps: Taps;
  /** The first request of an Envoy's stream, as it was sent. */
  sees(request: readonly Uint8Array[]): void;
}

export interface TelemetryOptions {
  readonly node: Node;
  /** Metrics of an Envoy that counts for itself, in Prometheus' form, for a query. */
  readonly envoyMetrics: (query: string) => Promise<string>;
  readonly log: Logger;
}

/** An Envoy lists its extensions when it first asks; one with this one counts for itself and writes no lines. */
const ownCounter = "istio.stats";

export function createTelemetry({ node, envoyMetrics, log }: TelemetryOptions): Telemetry {
  const monotonicMs = (): number => performance.now();
  const table = createWorkloadTable({ monotonicMs });
  const own = ownWorkload(node);
  const taps = createTaps({ own, table, monotonicMs, now: () => new Date() });
  const counter = createRequestCounter({ own, table, taps, monotonicMs });
  const pulled = createPulledEdges({ read: envoyMetrics, log });
  let countsItself = false;
  return {
    sees(request) {
      countsItself = request.some((part) =>
        Buffer.from(part.buffer, part.byteOffset, part.length).includes(ownCounter),
      );
    },
    routes: [createMetricsReceiver(counter, log)],
    subscription: table.subscription,
    metrics: counter.metrics,
    edges: { take: () => (countsItself ? pulled : counter.edges).take() },
    taps,
  };
}

function ownWorkload({ metadata, labels }: Node): Named {
  const text = (key: string): string => (typeof metadata[key] === "string" ? metadata[key] : "");
  const name = text("WORKLOAD_NAME");
  return {
    name,
    namespace: text("NAMESPACE"),
    cluster: text("CLUSTER_ID"),
    canonicalService: canonicalName(labels, name),
    canonicalRevision: canonicalRevision(labels),
    app: labels.app ?? "",
    version: labels.version ?? "",
  };
}
