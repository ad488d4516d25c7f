/** A TCP chain's place in; its network filters out, up to and with the one that connects to the cluster. */

import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { InboundFacet, OutboundFacet } from "../../model/index.ts";
import { networkFilter } from "../build/listener-chain.ts";
import { metadataExchange } from "../build/metadata.ts";
import { type ExtensionPhase, extensionNetworkFilters } from "../extensions/index.ts";
import type { Direction } from "../proxy/direction.ts";
import { hasIstioFilters } from "../proxy/profile.ts";
import { type SecurityStage, securityNetworkFilters } from "../security/index.ts";
import { statsNetworkFilters } from "../telemetry/stats.ts";
import type { View } from "../view.ts";

/** On the way out there are no policies: only what counts there can be read. */
export type TcpPlace = PlaceFields &
  (
    | { readonly direction: "outbound"; readonly view: View<OutboundFacet>; readonly secured?: false }
    | { readonly direction: "inbound" | "gateway"; readonly view: View<InboundFacet>; readonly secured: boolean }
  );

interface PlaceFields {
  /** Port that extensions match; 0 for any. */
  readonly port: number;
  /** Exchanges workload facts: at the end of a connection that comes from the mesh. */
  readonly exchange: boolean;
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
export function preHttpFilters(view: View<OutboundFacet>, direction: Direction, port: number): Filter[] {
  return [
    ...(direction === "inbound" ? exchangeFilters(view) : []),
    ...phases.flatMap((phase) => extensionNetworkFilters(view, phase, { direction, port })),
  ];
}

/** On the way out and on gateways, Istio gives network extensions to the first HTTP chain of a listener, and to no other. */
export function isFirstHttp(chains: readonly ({ readonly kind: string } | undefined)[], index: number): boolean {
  return chains.findIndex((chain) => chain?.kind === "http") === index;
}

export function exchangeFilters(view: View<OutboundFacet>): readonly Filter[] {
  return hasIstioFilters(view.proxy) ? [networkFilter(metadataExchange.name, metadataExchange.config())] : [];
}

function security(stage: SecurityStage): NetworkFilterPass {
  // Not where TLS only passes through to its end.
  return (place) => (place.secured ? securityNetworkFilters(place.view, stage, place.direction) : []);
}

function extension(phase: ExtensionPhase): NetworkFilterPass {
  return ({ view, direction, port }) => extensionNetworkFilters(view, phase, { direction, port });
}
