/** Connection pool, retry budget and mesh-wide keepalive in; circuit breakers, timeouts and socket options of a cluster out. */
import { create } from "@bufbuild/protobuf";
import { type CircuitBreakers, CircuitBreakersSchema } from "../../gen/envoy/config/cluster/v3/circuit_breaker_pb.js";
import {
  type UpstreamConnectionOptions,
  UpstreamConnectionOptionsSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { parseDuration } from "../../lib/index.ts";
import type {
  ConnectionPoolSettings,
  ConnectionPoolTcpKeepalive,
  MeshConfigSpec,
  TrafficPolicyRetryBudget,
} from "../../model/index.ts";
import { duration } from "../build/duration.ts";

/** Envoy's own limits are far too low for a mesh, so without a word of the user there are none. */
const unlimited = 4294967295;
const defaultRetryPercent = 20;
const defaultRetryConcurrency = 3;

export function circuitBreakers(
  pool: ConnectionPoolSettings | undefined,
  retryBudget: TrafficPolicyRetryBudget | undefined,
): CircuitBreakers {
  return pool || retryBudget ? breakers(pool, retryBudget) : noLimits;
}

function breakers(
  pool: ConnectionPoolSettings | undefined,
  retryBudget: TrafficPolicyRetryBudget | undefined,
): CircuitBreakers {
  return create(CircuitBreakersSchema, {
    thresholds: [
      {
        maxConnections: limit(pool?.tcp?.maxConnections),
        maxPendingRequests: limit(pool?.http?.http1MaxPendingRequests),
        maxRequests: limit(pool?.http?.http2MaxRequests),
        maxRetries: limit(pool?.http?.maxRetries),
        ...(retryBudget ? { retryBudget: budget(retryBudget) } : {}),
      },
    ],
  });
}

const noLimits = breakers(undefined, undefined);

/** Zero cannot be told from absent in Istio's API. */
function limit(value: number | undefined): number {
  return value !== undefined && value > 0 ? value : unlimited;
}

function budget(settings: TrafficPolicyRetryBudget) {
  const concurrency = settings.minRetryConcurrency ?? 0;
  return {
    budgetPercent: { value: settings.percent ?? defaultRetryPercent },
    budgetInterval: duration(settings.budgetInterval),
    minRetryConcurrency: concurrency > 0 ? concurrency : defaultRetryConcurrency,
  };
}

export function connectTimeout(settings: MeshConfigSpec, pool: ConnectionPoolSettings | undefined) {
  return duration(pool?.tcp?.connectTimeout) ?? duration(settings.connectTimeout);
}

/** The rule's keepalive over the mesh's, field by field. One that is set but empty asks for the system's values. */
export function connectionOptions(
  settings: MeshConfigSpec,
  pool: ConnectionPoolSettings | undefined,
): UpstreamConnectionOptions | undefined {
  const own = pool?.tcp?.tcpKeepalive;
  const mesh = settings.tcpKeepalive;
  if (!own && !mesh) return undefined;
  return create(UpstreamConnectionOptionsSchema, {
    tcpKeepalive: {
      keepaliveProbes: probes(own) ?? probes(mesh),
      keepaliveTime: wholeSeconds(own?.time) ?? wholeSeconds(mesh?.time),
      keepaliveInterval: wholeSeconds(own?.interval) ?? wholeSeconds(mesh?.interval),
    },
  });
}

function probes(keepalive: ConnectionPoolTcpKeepalive | undefined): number | undefined {
  return keepalive?.probes !== undefined && keepalive.probes > 0 ? keepalive.probes : undefined;
}

function wholeSeconds(text: string | undefined): number | undefined {
  const nanos = text === undefined ? undefined : parseDuration(text);
  return nanos === undefined || nanos < 0n ? undefined : Number(nanos / 1_000_000_000n);
}
