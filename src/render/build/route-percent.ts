/** Percentages as Istio's users write them in, Envoy's fractions out. */
import { create } from "@bufbuild/protobuf";
import {
  type RuntimeFractionalPercent,
  RuntimeFractionalPercentSchema,
} from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  type FractionalPercent,
  FractionalPercent_DenominatorType,
  FractionalPercentSchema,
} from "../../gen/envoy/type/v3/percent_pb.js";

/** `Percent.value`: four decimals count, the rest is cut off. */
export function percentFraction(value: number): FractionalPercent {
  return fraction(value * 10_000, FractionalPercent_DenominatorType.MILLION);
}

export function wholePercent(value: number): FractionalPercent {
  return fraction(value, FractionalPercent_DenominatorType.HUNDRED);
}

export function runtimePercent(defaultValue: FractionalPercent): RuntimeFractionalPercent {
  return create(RuntimeFractionalPercentSchema, { defaultValue });
}

function fraction(amount: number, denominator: FractionalPercent_DenominatorType): FractionalPercent {
  const numerator = Math.min(Math.max(Math.trunc(amount), 0), 0xffff_ffff);
  return create(FractionalPercentSchema, { numerator, denominator });
}
