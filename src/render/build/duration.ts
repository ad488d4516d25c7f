/** Durations as users write them (`5s`, `1h`) in, google.protobuf.Duration out. */
import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import { durationParts, parseDuration } from "../../lib/index.ts";

/** Undefined for what is absent, for what is no duration, and for a negative one: Envoy refuses those everywhere. */
export function duration(text: string | undefined): Duration | undefined {
  const nanos = text === undefined ? undefined : parseDuration(text);
  return nanos === undefined || nanos < 0n ? undefined : create(DurationSchema, durationParts(nanos));
}

export function milliseconds(ms: number): Duration {
  return create(DurationSchema, durationParts(BigInt(Math.round(ms * 1e6))));
}

/** Whole seconds. */
export function seconds(amount: number): Duration {
  return create(DurationSchema, { seconds: BigInt(amount), nanos: 0 });
}
