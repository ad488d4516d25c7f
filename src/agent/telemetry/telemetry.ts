/** The proxy's node in; where its Envoy reports requests, what of it is asked of the control plane, and metrics out. */
import type { Logger } from "../../lib/index.ts";
import { canonicalName, canonicalRevision } from "../../model/index.ts";
import type { Route } from "../../rpc/index.ts";
import type { Node } from "../bootstrap/node.ts";
import type { OwnSubscription } from "../own-subscription.ts";
import type { EdgeSource } from "./edge-counts.ts";
import type { Named } from "./labels.ts";
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
}

export function createTelemetry({ node, log }: { readonly node: Node; readonly log: Logger }): Telemetry {
  const monotonicMs = (): number => performance.now();
  const table = createWorkloadTable({ monotonicMs });
  const own = ownWorkload(node);
  const taps = createTaps({ own, table, monotonicMs });
  const counter = createRequestCounter({ own, table, taps, monotonicMs });
  return {
    routes: [createMetricsReceiver(counter, log)],
    subscription: table.subscription,
    metrics: counter.metrics,
    edges: counter.edges,
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
