/** Values of policies, with `*` at their start or end, in; Envoy's matchers for strings and headers out. */
import { create } from "@bufbuild/protobuf";
import { type HeaderMatcher, HeaderMatcherSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { exactMatch, prefixMatch, regexMatch, suffixMatch } from "../build/match.ts";

/** `*` alone asks for any value, but for one: Envoy refuses an empty prefix or suffix. */
export const anyText = (): StringMatcher => regexMatch(".+");

export function wildcardMatch(value: string): StringMatcher {
  return value === "*" ? anyText() : affixMatch(value, false);
}

/** A wildcard at the start wins; a second one at the end is then an ordinary character. */
function affixMatch(value: string, ignoreCase: boolean): StringMatcher {
  if (value.startsWith("*")) return suffixMatch(value.slice(1), ignoreCase);
  if (value.endsWith("*")) return prefixMatch(value.slice(0, -1), ignoreCase);
  return exactMatch(value, ignoreCase);
}

/** `*` asks for the header to be there, with whatever value. */
export function headerMatch(name: string, value: string, ignoreCase = false): HeaderMatcher {
  return create(HeaderMatcherSchema, {
    name,
    headerMatchSpecifier:
      value === "*"
        ? { case: "presentMatch", value: true }
        : { case: "stringMatch", value: affixMatch(value, ignoreCase) },
  });
}
