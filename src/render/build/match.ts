/** Strings in, string matchers out. */
import { create } from "@bufbuild/protobuf";
import { type StringMatcher, StringMatcherSchema } from "../../gen/envoy/type/matcher/v3/string_pb.js";

export function exactMatch(value: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "exact", value } });
}

export function prefixMatch(value: string): StringMatcher {
  return create(StringMatcherSchema, { matchPattern: { case: "prefix", value } });
}
