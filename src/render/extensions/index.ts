/** Slots for WasmPlugin and TrafficExtension in the filter chains: a proxy's class and a place in, filters out. */
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { View } from "../view.ts";

/** In the order on the wire. */
export type ExtensionPhase = "AUTHN" | "AUTHZ" | "STATS" | "UNSPECIFIED_PHASE";

export interface ExtensionPlace {
  readonly direction: "inbound" | "outbound" | "gateway";
  /** Port that the listener or the chain is for; 0 where it is for any. */
  readonly port: number;
}

export function extensionFilters(_view: View, _phase: ExtensionPhase, _place: ExtensionPlace): readonly HttpFilter[] {
  return [];
}

export function extensionNetworkFilters(
  _view: View,
  _phase: ExtensionPhase,
  _place: ExtensionPlace,
): readonly Filter[] {
  return [];
}
