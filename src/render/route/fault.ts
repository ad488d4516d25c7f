/** Fault injection of a VirtualService in, Envoy's per-route fault configuration out. */
import { create } from "@bufbuild/protobuf";
import { type FaultDelay, FaultDelaySchema } from "../../gen/envoy/extensions/filters/common/fault/v3/fault_pb.js";
import {
  type FaultAbort,
  FaultAbortSchema,
  type HTTPFault,
  HTTPFaultSchema,
} from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import type { HTTPFaultInjection, HTTPFaultInjectionAbort, HTTPFaultInjectionDelay } from "../../model/index.ts";
import { percentFraction, wholePercent } from "../build/route-percent.ts";
import { unsignedDuration } from "./timeout.ts";

const grpcStatuses = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];

/** Kinds of fault that Envoy does not have (exponential delay, HTTP/2 errors) are left out. */
export function fault(injection: HTTPFaultInjection): HTTPFault {
  const delay = injection.delay && faultDelay(injection.delay);
  const abort = injection.abort && faultAbort(injection.abort);
  return create(HTTPFaultSchema, { ...(delay ? { delay } : {}), ...(abort ? { abort } : {}) });
}

function faultDelay(delay: HTTPFaultInjectionDelay): FaultDelay | undefined {
  const value = unsignedDuration(delay.fixedDelay);
  if (!value) return undefined;
  const percentage = delay.percentage ? percentFraction(delay.percentage.value ?? 0) : wholePercent(delay.percent ?? 0);
  return create(FaultDelaySchema, { percentage, faultDelaySecifier: { case: "fixedDelay", value } });
}

function faultAbort(abort: HTTPFaultInjectionAbort): FaultAbort | undefined {
  const errorType = abortStatus(abort);
  if (!errorType) return undefined;
  const percentage = abort.percentage && percentFraction(abort.percentage.value ?? 0);
  return create(FaultAbortSchema, { errorType, ...(percentage ? { percentage } : {}) });
}

function abortStatus(abort: HTTPFaultInjectionAbort): FaultAbort["errorType"] | undefined {
  const { httpStatus, grpcStatus } = abort;
  if (httpStatus !== undefined) return { case: "httpStatus", value: Math.max(httpStatus, 0) };
  if (grpcStatus === undefined) return undefined;
  return { case: "grpcStatus", value: Math.max(grpcStatuses.indexOf(grpcStatus), 0) };
}
