/** What the ADS server is made of, and its bounds. */
import type { Logger, Overload } from "../../lib/index.ts";
import type { Identity } from "../../model/index.ts";
import type { Call } from "../../rpc/index.ts";
import type { XdsMetrics } from "../metrics.ts";
import type { ProxyNode, ResourceSource } from "../source.ts";
import type { WireResource } from "./wire.ts";

export interface AdsLimits {
  readonly maxStreams: number;
  /** Of one address: behind one may be a whole network, but never all of the mesh. */
  readonly maxStreamsPerClient: number;
  readonly maxConcurrentPushes: number;
  /** A push that a slow reader draws out gives up its slot after this time, and goes on. */
  readonly slotMs: number;
  /** Where others wait for a slot, it does so after this time in which the reader has taken nothing. */
  readonly stalledMs: number;
  readonly firstRequestMs: number;
  /** How long routes wait for their clusters. */
  readonly holdBackMs: number;
  /** How long a cluster stays that nothing names any more. */
  readonly drainMs: number;
  readonly reauthenticateMs: number;
  /** Requests a second of one stream, after a burst of ten times as many. */
  readonly requestsPerSecond: number;
  /** Of one type, that a stream may ask for by name, be it over many requests. */
  readonly maxNames: number;
  /** What the names of all types that a stream asks for may have together. */
  readonly maxNameBytes: number;
}

export const defaultAdsLimits: AdsLimits = {
  maxStreams: 10_000,
  maxStreamsPerClient: 5_000,
  maxConcurrentPushes: 64,
  slotMs: 2000,
  stalledMs: 30,
  firstRequestMs: 30_000,
  holdBackMs: 5000,
  drainMs: 5000,
  reauthenticateMs: 30 * 60_000,
  requestsPerSecond: 100,
  maxNames: 200_000,
  maxNameBytes: 32 * 1024 * 1024,
};

/** Whom a caller has proven to be; what else it says of itself is only said. */
export interface Proven {
  readonly identity: Identity;
  /** Name of the Pod that its token or certificate was given to; undefined for one that is bound to none. */
  readonly pod?: string | undefined;
}

/** Undefined means that the port asks for no identity; throws where it does and none is proven. */
export type Authenticate = (call: Call) => Proven | undefined | Promise<Proven | undefined>;

/** Types that are not resources of a proxy: debug questions, health reports. */
export interface OtherTypes {
  handles(typeUrl: string): boolean;
  /** Undefined means no answer. */
  answer(request: OtherRequest): Promise<readonly WireResource[] | undefined>;
}

export interface OtherRequest {
  readonly typeUrl: string;
  readonly names: readonly string[];
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  readonly call: Call;
}

export interface AdsOptions {
  readonly source: ResourceSource;
  /** What an agent has found on probing its workload; without an error it is healthy. */
  readonly onHealth?: (node: ProxyNode, error: string | undefined) => void;
  /** `control_plane.identifier` of every response. */
  readonly identifier: string;
  /** False until the caches are filled: an empty config must never be sent for want of knowledge. */
  readonly ready: () => boolean;
  readonly log: Logger;
  readonly now: () => Date;
  readonly uuid: () => string;
  readonly metrics?: XdsMetrics;
  readonly other?: OtherTypes;
  readonly limits?: Partial<AdsLimits>;
  /** Told when what proxies refuse has changed. */
  readonly onRefusals?: () => void;
  /** Says when memory runs out: new streams are then refused, those that are there go on. */
  readonly overload?: Overload | undefined;
  /** Whether Envoys that can are sent virtual hosts one by one (VHDS). */
  readonly virtualHosts?: boolean;
}
