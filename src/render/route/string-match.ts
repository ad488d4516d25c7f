/** Istio's StringMatch in, Envoy's string matcher out; says which matches Envoy would refuse. */
import { create } from "@bufbuild/protobuf";
import { type StringMatcher, StringMatcherSchema } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import type { StringMatch } from "../../model/index.ts";
import { exactMatch, prefixMatch } from "../build/match.ts";
import { isUsablePattern } from "./pattern.ts";

/**
 * Nothing to compare with: presence alone counts. Istio reads the regex `*` so too, and Envoy refuses an empty prefix,
 * which means the same.
 */
export function asksPresenceOnly(match: StringMatch | null | undefined): boolean {
  if (!match) return true;
  if (match.exact !== undefined) return false;
  if (match.prefix !== undefined) return match.prefix === "";
  return match.regex === undefined || match.regex === "*";
}

/** Undefined where there is nothing to compare with. */
export function stringMatcher(match: StringMatch): StringMatcher | undefined {
  if (match.exact !== undefined) return exactMatch(match.exact);
  if (match.prefix !== undefined) return prefixMatch(match.prefix);
  return match.regex === undefined ? undefined : regexMatcher(match.regex);
}

function regexMatcher(regex: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: { regex } } });
}

/** One bad pattern would make Envoy refuse the whole route configuration. */
export function isUsableMatch(match: StringMatch | null | undefined): boolean {
  return asksPresenceOnly(match) || match?.regex === undefined || isUsablePattern(match.regex);
}
