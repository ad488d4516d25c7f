/** A connection in, what `proxy-status` and `syncz` tell of it out. */
import type { Identity, ResourceType } from "../../model/index.ts";
import type { ProxyNode } from "../source.ts";
import type { TypeState } from "../stream/type-state.ts";
import type { Connection } from "./ads-shared.ts";

export interface ProxyStatus {
  /** `name.namespace-counter` */
  readonly connectionId: string;
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  /** Name of the Pod that it has proven to be in, where it has. */
  readonly pod: string | undefined;
  readonly peer: string;
  readonly variant: "sotw" | "delta";
  readonly connectedAt: Date;
  readonly types: readonly TypeStatus[];
  readonly held: readonly HeldStatus[];
}

export interface TypeStatus {
  readonly type: ResourceType;
  readonly wildcard: boolean;
  /** How many names are asked for one by one. */
  readonly subscribed: number;
  /** How many resources the proxy was sent and has not been told to drop. */
  readonly resources: number;
  readonly sentVersion: string;
  readonly sentNonce: string;
  readonly ackedNonce: string;
  /** What the proxy said of the newest response that it refused; empty after an ACK. */
  readonly lastError: string;
  /** Resources of which the proxy refused the version that is wanted, with what it said. */
  readonly refused: ReadonlyMap<string, string>;
  /** Where a refusal named none: what it may be about. */
  readonly doubted: readonly string[];
  readonly sentAt: Date | undefined;
  readonly ackedAt: Date | undefined;
  readonly nackedAt: Date | undefined;
}

export interface HeldStatus {
  readonly type: ResourceType;
  readonly name: string;
  readonly clusters: readonly string[];
  readonly since: Date;
  readonly ended: boolean;
}

/** A proxy, and how far it is with one type. */
export type TypeFollower = Pick<ProxyStatus, "node" | "identity" | "pod" | "peer"> & {
  /** Undefined where it does not follow the type. */
  readonly type: Pick<TypeStatus, "sentNonce" | "ackedNonce" | "sentAt"> | undefined;
};

export function createFollowerOf(type: ResourceType, now: Date): (connection: Connection) => TypeFollower {
  const at = clockOf(now);
  return ({ node, identity, pod, peer, state }) => {
    const own = state.state(type);
    if (!own) return { node, identity, pod, peer, type: undefined };
    const { nonce: sentNonce, ackedNonce, sentAtMs } = own;
    return { node, identity, pod, peer, type: { sentNonce, ackedNonce, sentAt: at(sentAtMs) } };
  };
}

export function proxyStatus(connection: Connection, now: Date): ProxyStatus {
  const at = clockOf(now);
  return {
    connectionId: connection.id,
    node: connection.node,
    identity: connection.identity,
    pod: connection.pod,
    peer: connection.peer,
    variant: connection.variant,
    connectedAt: connection.connectedAt,
    types: [...connection.state.states()].map((state) => typeStatus(state, at)),
    held: connection.state
      .held()
      .map(({ type, name, clusters, sinceMs, ended }) => ({ type, name, clusters, since: at(sinceMs) ?? now, ended })),
  };
}

/** What a clock that is never set has said, as a time of day; zero is never. */
function clockOf(now: Date): (ms: number) => Date | undefined {
  const beginMs = now.getTime() - performance.now();
  return (ms) => (ms === 0 ? undefined : new Date(beginMs + ms));
}

function typeStatus(state: TypeState, at: (ms: number) => Date | undefined): TypeStatus {
  const { refusals } = state;
  return {
    type: state.type,
    wildcard: state.wildcard,
    subscribed: state.names.size,
    // Counted where somebody asks: over all proxies it is most of what a status costs.
    get resources() {
      return state.count();
    },
    sentVersion: state.version,
    sentNonce: state.nonce,
    ackedNonce: state.ackedNonce,
    lastError: refusals?.lastError ?? "",
    refused: new Map(refusals?.entries()),
    doubted: refusals?.doubted ?? [],
    sentAt: at(state.sentAtMs),
    ackedAt: at(state.ackedAtMs),
    nackedAt: at(state.nackedAtMs),
  };
}
