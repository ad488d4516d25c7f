/** What the streams of one server have in common, and what is known of each. */
import type { Identity } from "../../model/index.ts";
import type { Call, Each, Payload, RpcError, Send } from "../../rpc/index.ts";
import type { XdsMetrics } from "../metrics.ts";
import type { ProxyNode } from "../source.ts";
import type { NamePool } from "../stream/names.ts";
import type { RouteApart } from "../stream/route-parts.ts";
import type { Steps } from "../stream/steps.ts";
import type { StreamState } from "../stream/stream-state.ts";
import type { Versions } from "../stream/version.ts";
import type { AdsLimits, AdsOptions, Authenticate } from "./ads-options.ts";
import type { Incoming } from "./incoming.ts";
import type { RejectCounts, StreamRejects } from "./reject-counts.ts";
import type { Turns } from "./turns.ts";
import type { VersionCounts } from "./version-counts.ts";
import type { Encode } from "./wire.ts";

/** What all streams of a server share. */
export interface AdsShared {
  readonly options: AdsOptions;
  readonly limits: AdsLimits;
  readonly metrics: XdsMetrics;
  readonly versions: Versions;
  readonly turns: Turns;
  readonly encode: Encode;
  readonly steps: Steps;
  readonly pool: NamePool;
  readonly apart: RouteApart;
  readonly connections: Map<string, Connection>;
  /** How many of them, by address. */
  readonly perClient: Map<string, number>;
  /** And by the version of the proxy. */
  readonly perVersion: VersionCounts;
  /** What they refuse, by proxy. */
  readonly rejects: RejectCounts;
  readonly nextId: () => number;
  /** Answers of proxies, and streams that have ended. */
  readonly moves: { count: number };
}

export interface Connection {
  readonly id: string;
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  /** As it is proven, not as the node says. */
  readonly pod: string | undefined;
  readonly peer: string;
  readonly variant: "sotw" | "delta";
  readonly connectedAt: Date;
  readonly state: StreamState;
  readonly rejects: StreamRejects;
  /** Of answers to questions of other types that were given last. */
  readonly otherNonces: Set<string>;
  /** Of names that were asked for since they were last counted, with those that were held then. */
  nameBytes: number;
  /** Likewise, how many of them are long. */
  longNames: number;
  /** Whether the proxy refuses something that it was sent last, */
  refuses: boolean;
  /** or ever has: somebody may remember it. */
  hasRefused: boolean;
  readonly close: (reason: RpcError) => void;
}

/** One call of either variant. */
export interface AdsStream {
  readonly variant: "sotw" | "delta";
  readonly requests: Each<Incoming>;
  readonly call: Call;
  readonly send: Send<Payload>;
  readonly authenticate: Authenticate;
}
