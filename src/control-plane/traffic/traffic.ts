/** Calls of agents, and who is at which address, in; rates by edge, and the debug path that shows them, out. */
import {
  FairleadError,
  type LazyJson,
  type Logger,
  lazyFields,
  lazyList,
  type Overload,
  parseDurationMs,
} from "../../lib/index.ts";
import { canonicalName, canonicalRevision, type Identity } from "../../model/index.ts";
import { type DebugView, type Metrics, mayDebug } from "../../ops/index.ts";
import type { Registry } from "../../registry/index.ts";
import type { Route } from "../../rpc/index.ts";
import {
  createTapHub,
  createTrafficService,
  createTrafficStore,
  type KnownWorkload,
  mergeSnapshots,
  type TapView,
  type TimeRange,
  type TrafficServiceOptions,
  type TrafficSnapshot,
  type TrafficView,
} from "../../traffic/index.ts";
import { createReadRoute, type Peers } from "./peers.ts";

export interface Traffic {
  /** Of the agents that report to this replica. */
  readonly view: TrafficView;
  /** Of all replicas, as one. */
  everywhere(range: TimeRange): Promise<TrafficSnapshot>;
  readonly taps: TapView;
  /** For those who can prove who they are: agents, and other replicas. */
  routes(authenticate: TrafficServiceOptions["authenticate"]): readonly Route[];
}

export interface TrafficOptions {
  readonly registry: Pick<Registry, "workloadAt">;
  /** Of the control plane. */
  readonly namespace: string;
  /** Undefined where there is but one replica. */
  readonly peers?: Peers;
  readonly metrics: Metrics;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  /** Of the headers that proxies note, those that may be shown; none where absent. */
  readonly tapHeaders?: readonly string[];
  readonly overload?: Overload | undefined;
  readonly log: Logger;
}

export function createTraffic(options: TrafficOptions): Traffic {
  const { registry, namespace, peers, metrics, monotonicMs, overload, log } = options;
  const store = createTrafficStore(options);
  const taps = createTapHub({ ...options, headers: options.tapHeaders ?? [] });
  metrics.onScrape(() => {
    const { reporters, edges, foldedEdges, bytes } = store.about();
    metrics.set("fairlead_traffic_reporters", reporters);
    metrics.set("fairlead_traffic_edges", edges);
    metrics.set("fairlead_traffic_folded_edges", foldedEdges);
    metrics.set("fairlead_traffic_bytes", bytes);
    metrics.set("fairlead_traffic_taps", taps.size);
  });
  return {
    view: store,
    taps,
    async everywhere(range) {
      const { snapshots, silent } = (await peers?.ask(range)) ?? { snapshots: [], silent: 0 };
      const merged = mergeSnapshots(await store.snapshot(range), ...snapshots);
      return { ...merged, silentPlanes: merged.silentPlanes + silent };
    },
    routes: (authenticate) => [
      createTrafficService({
        ...{ store, taps, authenticate, metrics, monotonicMs, overload, log },
        workloadAt: (address) => knownWorkload(registry, address),
      }),
      // As on the debug path.
      createReadRoute(store, authenticate, (identity) => mayReadTraffic(identity, namespace)),
    ],
  };
}

const mayReadTraffic = (identity: Identity, systemNamespace: string): boolean =>
  mayDebug({ remoteAddress: "", identity }, { path: "trafficz", proxyNamespace: undefined }, systemNamespace);

function knownWorkload(registry: TrafficOptions["registry"], address: string): KnownWorkload | undefined {
  const facts = registry.workloadAt(address);
  if (!facts) return undefined;
  const { workload, namespace, identity, labels } = facts;
  const [app, version] = [canonicalName(labels, workload), canonicalRevision(labels)];
  return { workload, namespace, identity, app, version };
}

const longestMs = 3_600_000;

/** `/debug/trafficz` */
export function createTrafficView({ view, everywhere }: Pick<Traffic, "view" | "everywhere">): DebugView {
  return {
    help: "requests between workloads, as their agents report them: ?last=1m, up to an hour; of this replica: ?local",
    answer({ query }) {
      const range = { lastMs: durationOf(query.get("last") ?? "1m") };
      return (query.has("local") ? view.snapshot(range) : everywhere(range)).then(inPieces);
    },
  };
}

/** Thousands of edges are not written in one go. */
const inPieces = ({ traffic, ...rest }: TrafficSnapshot): LazyJson =>
  lazyFields([...Object.entries(rest), ["traffic", lazyList(traffic)]]);

function durationOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms <= 0 || ms > longestMs)
    throw new FairleadError("invalid", "`last` is no time of up to an hour, such as 1m");
  return ms;
}
