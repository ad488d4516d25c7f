/** Envoy's string matchers and a text in; whether it matches out. */
import type { RegexMatcher } from "../../gen/envoy/type/matcher/v3/regex_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { compilePattern, type Pattern } from "../../lib/index.ts";

const never: Pattern = { workOn: () => 0, find: () => false, matches: () => false, replaceAll: (text) => text };

/** RE2 on the whole text, as Envoy does; what is no pattern matches nothing (Envoy would have refused it). */
export function matchesRegex({ regex }: RegexMatcher, text: string): boolean {
  return patternOf(regex).matches(text);
}

export function patternOf(regex: string): Pattern {
  const pattern = compilePattern(regex);
  return "error" in pattern ? never : pattern;
}

export function matchesText({ matchPattern, ignoreCase }: StringMatcher, given: string): boolean {
  if (matchPattern.case === "safeRegex") return matchesRegex(matchPattern.value, given);
  if (matchPattern.case === undefined || matchPattern.case === "custom") return false;
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const [wanted, text] = [fold(matchPattern.value), fold(given)];
  switch (matchPattern.case) {
    case "exact":
      return text === wanted;
    case "prefix":
      return text.startsWith(wanted);
    case "suffix":
      return text.endsWith(wanted);
    case "contains":
      return text.includes(wanted);
  }
}

/** For people. */
export function showText({ matchPattern }: StringMatcher): string {
  if (matchPattern.case === undefined || matchPattern.case === "custom") return "a matcher that is not known";
  if (matchPattern.case === "safeRegex") return `regex ${matchPattern.value.regex}`;
  return matchPattern.case === "exact" ? matchPattern.value : `${matchPattern.case} ${matchPattern.value}`;
}
