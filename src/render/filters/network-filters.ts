/** A TCP chain's place in; its network filters out, up to and with the one that connects to the cluster. */
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { networkFilter } from "../build/listener-chain.ts";
import { metadataExchange } from "../build/metadata.ts";
import type { Direction } from "../direction.ts";
import { type ExtensionPhase, extensionNetworkFilters } from "../extensions/index.ts";
import { hasIstioFilters } from "../profile.ts";
import { type SecurityStage, securityNetworkFilters } from "../security/index.ts";
import { statsNetworkFilters } from "../telemetry/stats.ts";
import type { View } from "../view.ts";

export interface TcpPlace {
  readonly view: View;
  readonly direction: Direction;
  /** Port that extensions match; 0 for any. */
  readonly port: number;
  /** Exchanges workload facts: at the end of a connection that comes from the mesh. */
  readonly exchange: boolean;
  /** Whether policies are enforced here: not on the way out, and not where TLS only passes through to its end. */
  readonly secured: boolean;
}

type NetworkFilterPass = (place: TcpPlace) => readonly Filter[];

const passes: readonly NetworkFilterPass[] = [
  // First, so that also a refused connection's peer is known.
  ({ view, exchange }) => (exchange ? exchangeFilters(view) : []),
  security("custom"),
  extension("AUTHN"),
  extension("AUTHZ"),
  security("authorization"),
  extension("STATS"),
  extension("UNSPECIFIED_PHASE"),
  ({ view, direction }) => statsNetworkFilters(view, direction),
];

/** `last` connects to the cluster. */
export function networkFilters(place: TcpPlace, last: readonly Filter[]): Filter[] {
  return [...passes.flatMap((pass) => pass(place)), ...last];
}

const phases: readonly ExtensionPhase[] = ["AUTHN", "AUTHZ", "STATS", "UNSPECIFIED_PHASE"];

/** What goes before a connection manager: HTTP has its own policies and metrics. */
export function preHttpFilters(view: View, direction: Direction, port: number): Filter[] {
  return [
    ...(direction === "inbound" ? exchangeFilters(view) : []),
    ...phases.flatMap((phase) => extensionNetworkFilters(view, phase, { direction, port })),
  ];
}

/** On the way out and on gateways, Istio gives network extensions to the first HTTP chain of a listener, and to no other. */
export function isFirstHttp(chains: readonly ({ readonly kind: string } | undefined)[], index: number): boolean {
  return chains.findIndex((chain) => chain?.kind === "http") === index;
}

export function exchangeFilters(view: View): readonly Filter[] {
  return hasIstioFilters(view.proxy) ? [networkFilter(metadataExchange.name, metadataExchange.config())] : [];
}

function security(stage: SecurityStage): NetworkFilterPass {
  return ({ view, direction, secured }) => (secured ? securityNetworkFilters(view, stage, direction) : []);
}

function extension(phase: ExtensionPhase): NetworkFilterPass {
  return ({ view, direction, port }) => extensionNetworkFilters(view, phase, { direction, port });
}
