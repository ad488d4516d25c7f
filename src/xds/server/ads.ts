/** A resource source in, the routes of `AggregatedDiscoveryService` and the state of every connected proxy out. */
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { bytesOf, type Resource, type ResourceType } from "../../model/index.ts";
import { type Decoder, duplex, protoMethod, type Route, RpcError, rawCodec, status } from "../../rpc/index.ts";
import { noMetrics, type XdsMetrics } from "../metrics.ts";
import type { ProxyNode } from "../source.ts";
import { createNamePool } from "../stream/names.ts";
import { createRouteApart } from "../stream/route-parts.ts";
import { createSteps } from "../stream/steps.ts";
import { createVersions } from "../stream/version.ts";
import { type AdsOptions, type Authenticate, defaultAdsLimits } from "./ads-options.ts";
import type { AdsShared, AdsStream, Connection } from "./ads-shared.ts";
import { serveStream } from "./ads-stream.ts";
import { fromDelta, fromSotw, type Incoming } from "./incoming.ts";
import { takeVersions } from "./initial-versions.ts";
import { checkNodeSize, deltaNode, sotwNode } from "./node-size.ts";
import { type ProxyProgress, proxyProgress } from "./proxy-progress.ts";
import { createFollowerOf, type ProxyStatus, proxyStatus, type TypeFollower } from "./proxy-status.ts";
import { createRejectCounts } from "./reject-counts.ts";
import { createReadSimple } from "./simple-request.ts";
import { createTurns } from "./turns.ts";
import { createVersionCounts } from "./version-counts.ts";
import { createEncode } from "./wire.ts";

export interface Ads {
  /** For one port, with its own way to know who calls. */
  routes(authenticate: Authenticate): readonly Route[];
  /** Every connected proxy, in the order of connecting. Of thousands that takes long: who looks for one asks `connected`. */
  status(): readonly ProxyStatus[];
  /** Who is connected, and no more. */
  connected(): IteratorObject<ConnectedProxy>;
  statusOf(connectionId: string): ProxyStatus | undefined;
  /** Who is connected and follows anything, with how far each is with one type: a tenth of what the whole status costs. */
  followers(type: ResourceType): IteratorObject<TypeFollower>;
  /** Those that refuse something of what they were sent; what the others have is not looked at. */
  refusing(): readonly ProxyStatus[];
  /** How far every connected proxy is with single resources. */
  progress(): IteratorObject<ProxyProgress>;
  /** The same of those that refuse something, and of these others. */
  refusingProgress(also: { has(node: ProxyNode): boolean }): IteratorObject<ProxyProgress>;
  /** How many answers of proxies have come, and streams have ended: where it stays the same, nothing has moved. */
  readonly moves: number;
  /** A route configuration as this proxy itself shows it: virtual hosts that were sent one by one have longer names. */
  shownRoute(connectionId: string, route: Resource): Uint8Array;
  /** Names that a proxy follows of a type: asked for, or, where it follows all, sent. Undefined where it follows none. */
  followed(connectionId: string, type: ResourceType): ReadonlySet<string> | undefined;
  /** Streams that wait for their turn to be written to. */
  waiting(): number;
  /** Ends a stream; the proxy comes back with a new one. False where there is none of that id. */
  disconnect(connectionId: string): boolean;
}

export interface ConnectedProxy {
  readonly connectionId: string;
  readonly node: ProxyNode;
  /** False for somebody who only asks, such as istioctl. */
  readonly follows: boolean;
}

const sotw = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const delta = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);

export function createAds(options: AdsOptions): Ads {
  const limits = { ...defaultAdsLimits, ...options.limits };
  const metrics = options.metrics ?? noMetrics;
  let lastId = 0;
  const shared: AdsShared = {
    options,
    limits,
    metrics,
    versions: createVersions(options),
    turns: createTurns({
      maxWriting: limits.maxConcurrentPushes,
      maxWritingMs: limits.slotMs,
      stalledMs: limits.stalledMs,
      onSlow: () => metrics.count("pilot_xds_write_timeout"),
      nowMs: () => performance.now(),
    }),
    encode: createEncode(options.identifier),
    steps: createSteps(),
    pool: createNamePool(),
    apart: createRouteApart(),
    connections: new Map(),
    perClient: new Map(),
    perVersion: createVersionCounts(metrics),
    rejects: createRejectCounts(metrics),
    nextId: () => ++lastId,
    moves: { count: 0 },
  };
  const sized = createSized(shared.metrics);
  const readSimple = createReadSimple();
  const readDelta = (bytes: Uint8Array): Incoming => {
    const simple = readSimple(bytes);
    if (simple) return simple;
    checkNodeSize(bytes, deltaNode);
    const apart = takeVersions(bytes);
    return apart ? fromDelta(delta.request.decode(apart.rest), apart.versions) : fromDelta(delta.request.decode(bytes));
  };
  return {
    routes: (authenticate) => [
      duplex({ path: sotw.path, request: sized(readSotw), response: rawCodec }, (requests, call, send) =>
        serve({ variant: "sotw", requests, call, send, authenticate }),
      ),
      duplex({ path: delta.path, request: sized(readDelta), response: rawCodec }, (requests, call, send) =>
        serve({ variant: "delta", requests, call, send, authenticate }),
      ),
    ],
    connected: () =>
      shared.connections.values().map(({ id, node, state }) => ({
        connectionId: id,
        node,
        follows: isFollowing(state),
      })),
    statusOf(connectionId) {
      const connection = shared.connections.get(connectionId);
      return connection && proxyStatus(connection, options.now());
    },
    followers: (type) =>
      shared.connections
        .values()
        .filter(({ state }) => isFollowing(state))
        .map(createFollowerOf(type, options.now())),
    status: () => [...shared.connections.values()].map((connection) => proxyStatus(connection, options.now())),
    refusing: () =>
      [...shared.connections.values().filter(isRefusing)].map((connection) => proxyStatus(connection, options.now())),
    progress() {
      const nowMs = performance.now();
      return shared.connections.values().map((connection) => proxyProgress(connection, nowMs));
    },
    refusingProgress(also) {
      const nowMs = performance.now();
      return shared.connections
        .values()
        .filter((connection) => also.has(connection.node) || isRefusing(connection))
        .map((connection) => proxyProgress(connection, nowMs));
    },
    get moves() {
      return shared.moves.count;
    },
    shownRoute: (connectionId, route) =>
      shared.connections.get(connectionId)?.state.isApart(route.name) ? shared.apart.merged(route) : bytesOf(route),
    followed(connectionId, type) {
      const state = shared.connections.get(connectionId)?.state.state(type);
      return state && new Set(state.wildcard ? state.sentNames() : state.names);
    },
    waiting: () => shared.turns.waiting,
    disconnect(connectionId) {
      const connection = shared.connections.get(connectionId);
      connection?.close(new RpcError(status.unavailable, "disconnected by an operator"));
      return connection !== undefined;
    },
  };

  /** A fault of ours in one stream ends that stream alone, and is counted; what is refused is counted by the RPC server. */
  async function serve(stream: AdsStream): Promise<void> {
    try {
      await serveStream(shared, stream);
    } catch (error) {
      if (!(error instanceof FairleadError)) shared.metrics.count("pilot_total_xds_internal_errors");
      throw error;
    }
  }
}

function readSotw(bytes: Uint8Array): Incoming {
  checkNodeSize(bytes, sotwNode);
  return fromSotw(sotw.request.decode(bytes));
}

/** The largest request that has come is told. */
function createSized(metrics: XdsMetrics): (decode: (bytes: Uint8Array) => Incoming) => Decoder<Incoming> {
  let largest = 0;
  return (decode) => ({
    decode(bytes) {
      if (bytes.length > largest) metrics.set("pilot_xds_recv_max", bytes.length);
      largest = Math.max(largest, bytes.length);
      return decode(bytes);
    },
  });
}

/** Who follows nothing only asks, as istioctl does. */
const isFollowing = (state: Connection["state"]): boolean => state.states().next().done !== true;

const isRefusing = ({ state }: Connection): boolean => state.states().some(({ refuses }) => refuses);
