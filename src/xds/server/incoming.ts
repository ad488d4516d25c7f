/** A decoded request of either variant in, one shape for the stream out. */
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { redactKeys } from "../../lib/index.ts";
import type { NodeFields } from "../node/read-node.ts";
import type { Received } from "../stream/request.ts";
import type { StreamState } from "../stream/stream-state.ts";
import { virtualHostType, type WireType } from "../type-info.ts";
import { checkLongNames, lengthsOf, measureNames } from "./name-lengths.ts";

export interface Incoming {
  readonly node: NodeFields | undefined;
  readonly typeUrl: string;
  readonly nonce: string;
  /** Names asked for, for types that are answered by a hook. */
  readonly names: readonly string[];
  readonly error: string | undefined;
  /** That of gRPC, where there is an error. */
  readonly errorCode: number;
  readonly receive: (state: StreamState, type: WireType, nowMs: number) => Received;
}

/** An Envoy's complaint can carry whole configs, with keys in them; it is logged, and shown to whoever may read statuses. */
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
    errorCode: request.errorDetail?.code ?? 0,
    receive(state, type, nowMs) {
      // Envoy refuses to ask for them this way.
      if (type === virtualHostType) return { event: "stale", dirty: false };
      return state.receiveSotw({ type, names, nonce, version, ...(error === undefined ? {} : { error }) }, nowMs);
    },
  };
}

/** `initial` is what was taken out of the request before that was decoded. The map is given away. */
export function fromDelta(request: DeltaDiscoveryRequest, initial = new Map<string, string>()): Incoming {
  for (const [name, version] of Object.entries(request.initialResourceVersions)) initial.set(name, version);
  const error = errorText(request.errorDetail);
  const { resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe, responseNonce: nonce } = request;
  checkLongNames(lengthsOf(subscribe).long + lengthsOf(unsubscribe).long + measureNames(initial.keys()).long);
  return {
    node: request.node,
    typeUrl: request.typeUrl,
    nonce,
    names: subscribe,
    error,
    errorCode: request.errorDetail?.code ?? 0,
    receive(state, type, nowMs) {
      return state.receiveDelta(
        { type, subscribe, unsubscribe, initial, nonce, ...(error === undefined ? {} : { error }) },
        nowMs,
      );
    },
  };
}

function errorText(detail: { readonly message: string; readonly code: number } | undefined): string | undefined {
  if (!detail) return undefined;
  const text = detail.message || `code ${detail.code}`;
  // A copy: as a part of it, what is kept for as long as it is refused would keep megabytes.
  return redactKeys(text.length > maxErrorLength ? Buffer.from(text.slice(0, maxErrorLength)).toString() : text);
}
