/** A decoded request of either variant in, one shape for the stream out. */
import type { Node } from "../../gen/envoy/config/core/v3/base_pb.js";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import type { Received } from "../stream/request.ts";
import type { StreamState } from "../stream/stream-state.ts";
import { virtualHostType, type WireType } from "../type-info.ts";
import { checkLongNames, lengthsOf } from "./name-lengths.ts";

export interface Incoming {
  readonly node: Node | undefined;
  readonly typeUrl: string;
  readonly nonce: string;
  /** Names asked for, for types that are answered by a hook. */
  readonly names: readonly string[];
  readonly error: string | undefined;
  readonly receive: (state: StreamState, type: WireType, nowMs: number) => Received;
}

/** An Envoy's complaint can carry whole configs. */
const maxErrorLength = 4096;

export function fromSotw(request: DiscoveryRequest): Incoming {
  const error = errorText(request.errorDetail);
  const { resourceNames: names, responseNonce: nonce, versionInfo: version } = request;
  checkLongNames(lengthsOf(names).long);
  return {
    node: request.node,
    typeUrl: request.typeUrl,
    nonce,
    names,
    error,
    receive(state, type, nowMs) {
      // Envoy refuses to ask for them this way.
      if (type === virtualHostType) return { event: "stale", dirty: false };
      return state.receiveSotw({ type, names, nonce, version, ...(error === undefined ? {} : { error }) }, nowMs);
    },
  };
}

export function fromDelta(request: DeltaDiscoveryRequest): Incoming {
  const error = errorText(request.errorDetail);
  const { resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe, responseNonce: nonce } = request;
  const initialNames = Object.keys(request.initialResourceVersions);
  checkLongNames(lengthsOf(subscribe).long + lengthsOf(unsubscribe).long + lengthsOf(initialNames).long);
  return {
    node: request.node,
    typeUrl: request.typeUrl,
    nonce,
    names: subscribe,
    error,
    receive(state, type, nowMs) {
      const initial = new Map(Object.entries(request.initialResourceVersions));
      return state.receiveDelta(
        { type, subscribe, unsubscribe, initial, nonce, ...(error === undefined ? {} : { error }) },
        nowMs,
      );
    },
  };
}

function errorText(detail: { readonly message: string; readonly code: number } | undefined): string | undefined {
  return detail && (detail.message || `code ${detail.code}`).slice(0, maxErrorLength);
}
