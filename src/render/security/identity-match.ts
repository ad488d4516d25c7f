/** What policies say of a peer's identity (principal, namespace, account, trust domain) in; matchers of its SPIFFE id out. */
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { quotePattern } from "../../lib/index.ts";
import { exactMatch, prefixMatch, regexMatch } from "../build/match.ts";
import { anyText } from "./wildcard.ts";

const scheme = "spiffe://";

/**
 * Written without the scheme. R14: a suffix must not get the scheme glued to it as an exact text, so it becomes a
 * pattern; R42: what the user wrote is quoted in it.
 */
export function principalMatch(value: string): StringMatcher {
  if (value === "*") return anyText();
  if (value.startsWith("*")) return regexMatch(`${scheme}.*${quotePattern(value.slice(1))}`);
  if (value.endsWith("*")) return prefixMatch(scheme + value.slice(0, -1));
  return exactMatch(scheme + value);
}

/** `*` stands for any text, wherever it is. */
export function namespaceMatch(value: string): StringMatcher {
  return regexMatch(`.*/ns/${value.split("*").map(quotePattern).join(".*")}/.*`);
}

/** `account` of the policy's own namespace, or `namespace/account`; other pairs of the id may stand between and after. */
export function serviceAccountMatch(value: string, ownNamespace: string): StringMatcher {
  const slash = value.indexOf("/");
  const [namespace, account] = slash < 0 ? [ownNamespace, value] : [value.slice(0, slash), value.slice(slash + 1)];
  return regexMatch(`${scheme}.+/ns/${quotePattern(namespace)}/(.+/|)sa/${quotePattern(account)}(/.+)?`);
}

/** A wildcard stays within the trust domain: it does not reach over the slash. */
export function trustDomainMatch(value: string): StringMatcher {
  if (value === "*") return prefixMatch(scheme);
  const star = value.indexOf("*");
  if (star < 0) return prefixMatch(`${scheme}${value}/`);
  const [before, after] = [value.slice(0, star), value.slice(star + 1)];
  return regexMatch(`${scheme}${quotePattern(before)}[^/]*${quotePattern(after)}/.*`);
}
