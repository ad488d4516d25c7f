/** Matchers of metadata, such as the claims of a token, and the metadata in; whether they match out. */
import type { MetadataMatcher } from "../../gen/envoy/type/matcher/v3/metadata_pb.js";
import type { ValueMatcher } from "../../gen/envoy/type/matcher/v3/value_pb.js";
import { isRecord } from "../../lib/index.ts";
import { matchesText, showText } from "./text.ts";

/** What filters left, by the name of the filter. */
export type Metadata = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

export function matchesMetadata({ filter, path, value, invert }: MetadataMatcher, metadata: Metadata): boolean {
  const found = path.reduce<unknown>(
    (at, { segment }) =>
      isRecord(at) && segment.case === "key" && Object.hasOwn(at, segment.value) ? at[segment.value] : undefined,
    metadata.get(filter),
  );
  return (value !== undefined && matchesValue(value, found)) !== invert;
}

function matchesValue({ matchPattern: wanted }: ValueMatcher, value: unknown): boolean {
  switch (wanted.case) {
    case "nullMatch":
      return value === null;
    case "boolMatch":
      return value === wanted.value;
    case "presentMatch":
      return (value !== undefined) === wanted.value;
    case "stringMatch":
      return typeof value === "string" && matchesText(wanted.value, value);
    case "doubleMatch":
      return typeof value === "number" && matchesNumber(wanted.value.matchPattern, value);
    case "listMatch": {
      const { matchPattern } = wanted.value;
      return (
        Array.isArray(value) &&
        matchPattern.case === "oneOf" &&
        value.some((item) => matchesValue(matchPattern.value, item))
      );
    }
    case "orMatch":
      return wanted.value.valueMatchers.some((matcher) => matchesValue(matcher, value));
    default:
      return false;
  }
}

type DoublePattern = Extract<ValueMatcher["matchPattern"], { case: "doubleMatch" }>["value"]["matchPattern"];

function matchesNumber(wanted: DoublePattern, value: number): boolean {
  if (wanted.case === "exact") return value === wanted.value;
  return wanted.case === "range" && value >= wanted.value.start && value < wanted.value.end;
}

export function showMetadata({ filter, path, value }: MetadataMatcher): string {
  const keys = path.map(({ segment }) => (segment.case === "key" ? segment.value : "?")).join(".");
  const wanted = value?.matchPattern;
  return `${filter} ${keys}${wanted?.case === "stringMatch" ? ` ${showText(wanted.value)}` : ""}`;
}
