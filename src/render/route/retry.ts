/** A retry policy of a route, or of the mesh, in; Envoy's retry policy out. */

import { STATUS_CODES } from "node:http";
import { create } from "@bufbuild/protobuf";
import {
  type RetryPolicy,
  RetryPolicy_RetryHostPredicateSchema,
  RetryPolicy_RetryPrioritySchema,
  RetryPolicySchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { PreviousHostsPredicateSchema } from "../../gen/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js";
import { PreviousPrioritiesConfigSchema } from "../../gen/envoy/extensions/retry/priority/previous_priorities/v3/previous_priorities_config_pb.js";
import type { HTTPRetry } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { positiveDuration } from "./timeout.ts";

const defaultRetryOn = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";
/** Safe for any method: the application never saw the request. */
const inboundRetryOn = "reset-before-request";
const defaultAttempts = 2;
const statusCodes = "retriable-status-codes";

/** Two attempts where nobody said anything; none where somebody asked for none. */
export function outboundRetry(policy: HTTPRetry | undefined, hashed: boolean): RetryPolicy | undefined {
  if (policy && (policy.attempts ?? 0) <= 0) return undefined;
  const baseInterval = positiveDuration(policy?.backoff);
  const perTryTimeout = positiveDuration(policy?.perTryTimeout);
  // With consistent hashing a retry on another host would break the stickiness that was asked for.
  const elsewhere = policy?.retryIgnorePreviousHosts ?? !hashed;
  return create(RetryPolicySchema, {
    numRetries: policy?.attempts ?? defaultAttempts,
    ...retryConditions(policy?.retryOn, defaultRetryOn),
    hostSelectionRetryMaxAttempts: 5n,
    retryHostPredicate: elsewhere ? [otherHosts] : [],
    ...(policy?.retryRemoteLocalities ? { retryPriority: otherPriorities } : {}),
    ...(perTryTimeout ? { perTryTimeout } : {}),
    ...(baseInterval ? { retryBackOff: { baseInterval } } : {}),
  });
}

/** There is one host, the application, so nothing about hosts applies. */
export function inboundRetry(policy: HTTPRetry | undefined): RetryPolicy | undefined {
  if (policy && (policy.attempts ?? 0) <= 0) return undefined;
  const baseInterval = positiveDuration(policy?.backoff);
  return create(RetryPolicySchema, {
    numRetries: policy?.attempts ?? defaultAttempts,
    ...retryConditions(policy?.retryOn, inboundRetryOn),
    ...(baseInterval ? { retryBackOff: { baseInterval } } : {}),
  });
}

/** Istio lets users write status codes among Envoy's conditions. */
function retryConditions(
  written: string | undefined,
  fallback: string,
): { retryOn: string; retriableStatusCodes: number[] } {
  if (!written) return { retryOn: fallback, retriableStatusCodes: [] };
  const words = written
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
  const retriableStatusCodes = words.filter(isStatusCode).map(Number);
  const conditions = words.filter((word) => !isStatusCode(word)).join(",");
  const implied = retriableStatusCodes.length > 0 && !conditions.includes(statusCodes);
  return { retryOn: implied ? `${conditions},${statusCodes}` : conditions, retriableStatusCodes };
}

/** Codes that Go's standard library knows and Node's does not, and the other way round. */
const onlyNode: ReadonlySet<number> = new Set([509]);

function isStatusCode(word: string): boolean {
  if (!/^[+-]?\d+$/.test(word)) return false;
  const code = Number(word);
  return STATUS_CODES[code] !== undefined && !onlyNode.has(code);
}

const otherHosts = create(RetryPolicy_RetryHostPredicateSchema, {
  name: "envoy.retry_host_predicates.previous_hosts",
  configType: { case: "typedConfig", value: packAny(PreviousHostsPredicateSchema, {}) },
});

const otherPriorities = create(RetryPolicy_RetryPrioritySchema, {
  name: "envoy.retry_priorities.previous_priorities",
  configType: { case: "typedConfig", value: packAny(PreviousPrioritiesConfigSchema, { updateFrequency: 2 }) },
});
