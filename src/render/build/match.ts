/** Strings in, string matchers out. */
import { create } from "@bufbuild/protobuf";
import { type StringMatcher, StringMatcherSchema } from "../../gen/envoy/type/matcher/v3/string_pb.js";

export function exactMatch(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value }, ignoreCase });
}

export function prefixMatch(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "prefix", value }, ignoreCase });
}

export function suffixMatch(value: string, ignoreCase = false): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "suffix", value }, ignoreCase });
}

/** Over the whole text, as Envoy's `safe_regex` is. */
export function regexMatch(regex: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "safeRegex", value: { regex } } });
}
