/** One HTTP filter of a connection manager: what it is told about its place. */
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { InboundFacet, OutboundFacet, Protocol } from "../../model/index.ts";
import type { View } from "../view.ts";

/** On the way out there are no policies: only what counts there can be read. */
export type HttpPlace = PlaceFields &
  (
    | { readonly direction: "outbound"; readonly view: View<OutboundFacet> }
    | { readonly direction: "inbound" | "gateway"; readonly view: View<InboundFacet> }
  );

interface PlaceFields {
  readonly protocol: Protocol;
  /** 0 where the chain is for any port. */
  readonly port: number;
  /** Host of a service with a wildcard name that Envoy resolves per request; undefined for all others. */
  readonly dynamicHost: string | undefined;
}

/** A pass adds its filters, or none where it has nothing to do. */
export type HttpFilterPass = (place: HttpPlace) => readonly HttpFilter[];
