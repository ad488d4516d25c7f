import { createRegistry, toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { type RetryPolicy, RetryPolicySchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { PreviousHostsPredicateSchema } from "../../gen/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js";
import { PreviousPrioritiesConfigSchema } from "../../gen/envoy/extensions/retry/priority/previous_priorities/v3/previous_priorities_config_pb.js";
import { inboundRetry, outboundRetry } from "./retry.ts";

const registry = createRegistry(PreviousHostsPredicateSchema, PreviousPrioritiesConfigSchema);
const json = (policy: RetryPolicy | undefined) => policy && toJson(RetryPolicySchema, policy, { registry });
const previousHosts = [expect.objectContaining({ name: "envoy.retry_host_predicates.previous_hosts" })];

describe("outboundRetry", () => {
  test("two attempts on another host where nobody says anything", () => {
    expect(json(outboundRetry(undefined, false))).toEqual({
      retryOn: "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
      numRetries: 2,
      hostSelectionRetryMaxAttempts: "5",
      retryHostPredicate: previousHosts,
    });
  });

  test("hashing keeps to the host, unless the user asks for others", () => {
    expect(json(outboundRetry(undefined, true))).not.toHaveProperty("retryHostPredicate");
    expect(json(outboundRetry({ attempts: 1, retryIgnorePreviousHosts: true }, true))).toMatchObject({
      retryHostPredicate: previousHosts,
    });
    expect(json(outboundRetry({ attempts: 1, retryIgnorePreviousHosts: false }, false))).not.toHaveProperty(
      "retryHostPredicate",
    );
  });

  test.each([{ attempts: 0 }, { attempts: -1 }, { perTryTimeout: "1s" }])("%j retries nothing", (policy) => {
    expect(outboundRetry(policy, false)).toBeUndefined();
  });

  test.each<[string, string, number[]]>([
    ["5xx, 503 ,gateway-error", "5xx,gateway-error,retriable-status-codes", [503]],
    ["503,504", ",retriable-status-codes", [503, 504]],
    ["retriable-status-codes,429", "retriable-status-codes", [429]],
    ["reset,999", "reset,999", []],
    ["509", "509", []],
  ])("retryOn %s", (written, retryOn, retriableStatusCodes) => {
    const { retryOn: conditions, retriableStatusCodes: codes = [] } =
      outboundRetry({ attempts: 1, retryOn: written }, false) ?? {};
    expect({ retryOn: conditions, codes }).toEqual({ retryOn, codes: retriableStatusCodes });
  });

  test("per-try timeout, back-off and other localities", () => {
    expect(
      json(outboundRetry({ attempts: 3, perTryTimeout: "250ms", backoff: "1s", retryRemoteLocalities: true }, false)),
    ).toMatchObject({
      numRetries: 3,
      perTryTimeout: "0.250s",
      retryBackOff: { baseInterval: "1s" },
      retryPriority: { name: "envoy.retry_priorities.previous_priorities", typedConfig: { updateFrequency: 2 } },
    });
  });
});

test("inbound retries know no hosts", () => {
  expect(json(inboundRetry(undefined))).toEqual({ retryOn: "reset-before-request", numRetries: 2 });
  expect(json(inboundRetry({ attempts: 4, retryOn: "reset,503", perTryTimeout: "1s" }))).toEqual({
    retryOn: "reset,retriable-status-codes",
    retriableStatusCodes: [503],
    numRetries: 4,
  });
  expect(inboundRetry({})).toBeUndefined();
});
