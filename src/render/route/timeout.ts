/** A route's timeout in, Envoy's two timeouts out. */
import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import { duration } from "../build/duration.ts";

/** Istio's default is none, not Envoy's 15 s. The gRPC bound must be set for the `grpc-timeout` header to count. */
export function timeouts(written: string | undefined): { timeout: Duration; maxGrpcTimeout: Duration } {
  const timeout = unsignedDuration(written) ?? create(DurationSchema);
  return { timeout, maxGrpcTimeout: timeout };
}

/** The same for gRPC clients, which know the newer field alone. */
export function streamTimeouts(written: string | undefined): {
  timeout: Duration;
  maxStreamDuration: { maxStreamDuration: Duration };
} {
  const { timeout } = timeouts(written);
  return { timeout, maxStreamDuration: { maxStreamDuration: timeout } };
}

/** Envoy counts nanoseconds in 64 bits. */
const maxSeconds = 9_223_372_035n;

/** Undefined for what Envoy would refuse: a negative duration, or one of centuries. */
export function unsignedDuration(written: string | undefined): Duration | undefined {
  const parsed = duration(written);
  return parsed && parsed.seconds >= 0n && parsed.nanos >= 0 && parsed.seconds <= maxSeconds ? parsed : undefined;
}

/** Undefined for zero too. */
export function positiveDuration(written: string | undefined): Duration | undefined {
  const parsed = unsignedDuration(written);
  return parsed && (parsed.seconds > 0n || parsed.nanos > 0) ? parsed : undefined;
}
