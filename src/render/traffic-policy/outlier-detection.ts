/** A policy's outlier detection in; Envoy's, and the panic threshold that goes with it, out. */
import { create } from "@bufbuild/protobuf";
import {
  type OutlierDetection as EnvoyOutlierDetection,
  OutlierDetectionSchema,
} from "../../gen/envoy/config/cluster/v3/outlier_detection_pb.js";
import type { OutlierDetection, Service } from "../../model/index.ts";
import { duration } from "../build/duration.ts";
import { prefersClose } from "./locality.ts";

export function outlierDetection(settings: OutlierDetection): EnvoyOutlierDetection {
  const fiveXx = settings.consecutive5xxErrors;
  const gateway = settings.consecutiveGatewayErrors;
  return create(OutlierDetectionSchema, {
    // Ejection by success rate is not part of Istio's API.
    enforcingSuccessRate: 0,
    ...(fiveXx === undefined ? {} : { consecutive5xx: fiveXx, enforcingConsecutive5xx: enforced(fiveXx) }),
    ...(gateway === undefined
      ? {}
      : { consecutiveGatewayFailure: gateway, enforcingConsecutiveGatewayFailure: enforced(gateway) }),
    interval: duration(settings.interval),
    baseEjectionTime: duration(settings.baseEjectionTime),
    maxEjectionPercent: positive(settings.maxEjectionPercent),
    ...(settings.splitExternalLocalOriginErrors ? localOrigin(settings) : {}),
  });
}

function localOrigin(settings: OutlierDetection) {
  const failures = positive(settings.consecutiveLocalOriginFailures);
  return {
    splitExternalLocalOriginErrors: true,
    ...(failures === undefined
      ? {}
      : { consecutiveLocalOriginFailure: failures, enforcingConsecutiveLocalOriginFailure: 100 }),
    enforcingLocalOriginSuccessRate: 0,
  };
}

/**
 * Percentage of healthy endpoints below which Envoy would use unhealthy ones too. Never, unless the user sets it: not
 * ready endpoints are sent as unhealthy. Where close endpoints are preferred, health alone decides.
 */
export function panicThreshold(settings: OutlierDetection | undefined, service: Service): number {
  const percent = settings?.minHealthPercent ?? 0;
  return percent > 0 && !prefersClose(service) ? percent : 0;
}

/** A count of zero turns the check off. */
function enforced(count: number): number {
  return count > 0 ? 100 : 0;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
