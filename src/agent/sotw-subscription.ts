/**
 * A subscription of the agent's own that speaks incremental xDS in; the same on a stream that is told the state of the
 * world out. Every answer has all there is, in one place each: what it no longer has was removed.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import type { OwnSubscription } from "./own-subscription.ts";

/** For one stream; the subscription behind it outlives it. */
export function onStateOfTheWorld(own: OwnSubscription): OwnSubscription {
  let [accepted, count] = ["", 0];
  const translate = (request: Uint8Array): Uint8Array => {
    const { resourceNamesSubscribe, responseNonce, errorDetail } = fromBinary(DeltaDiscoveryRequestSchema, request);
    const resourceNames = resourceNamesSubscribe.filter((name) => name !== "*");
    const refusal = errorDetail ? { errorDetail } : {};
    const { typeUrl } = own;
    const whole = { typeUrl, resourceNames, responseNonce, versionInfo: accepted, ...refusal };
    return toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, whole));
  };
  return {
    ...own,
    attach: (send) => own.attach((request) => send(translate(request))),
    receive(bytes) {
      const { resources, versionInfo, nonce, typeUrl } = fromBinary(DiscoveryResponseSchema, bytes);
      const named = resources.map((resource, i) => ({ name: String(i), version: `${versionInfo} ${nonce}`, resource }));
      const gone = Array.from({ length: Math.max(0, count - named.length) }, (_, i) => String(named.length + i));
      const change = { typeUrl, nonce, resources: named, removedResources: gone };
      const answer = own.receive(toBinary(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, change)));
      if (!answer) return undefined;
      if (!fromBinary(DeltaDiscoveryRequestSchema, answer).errorDetail) [accepted, count] = [versionInfo, named.length];
      return translate(answer);
    },
  };
}
