/** R14, R42: emitted matchers agree with a plain reading of what users wrote, on random identities and hostile names. */
import { expect, test } from "vitest";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { compilePattern, type Pattern } from "../../lib/index.ts";
import { namespaceMatch, principalMatch, serviceAccountMatch, trustDomainMatch } from "./identity-match.ts";

const words = ["a", "ab", "b.c", "bxc", "a[b]", "a+", "x*y", "(a)", "a|b", "w-1", "$", "^a"];
const domains = ["cluster.local", "cluster-local", "clusterxlocal", "td[1]", "a.b"];

let state = 42;
const pick = <T>(items: readonly T[]): T => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return items[(state >>> 8) % items.length] as T;
};
const identity = () => ({ domain: pick(domains), namespace: pick(words), account: pick(words) });
const principalOf = ({ domain, namespace, account }: ReturnType<typeof identity>): string =>
  `${domain}/ns/${namespace}/sa/${account}`;

/** As Envoy evaluates a matcher. */
function reader(matcher: StringMatcher): (text: string) => boolean {
  const { case: kind, value } = matcher.matchPattern;
  if (kind === "exact") return (text) => text === value;
  if (kind === "prefix") return (text) => text.startsWith(value);
  if (kind === "suffix") return (text) => text.endsWith(value);
  if (kind !== "safeRegex") throw new Error("a kind of matcher that nobody expects");
  const pattern = compilePattern(value.regex);
  if ("error" in pattern) throw new Error(pattern.error);
  return (pattern as Pattern).matches;
}

function reads(pattern: string, text: string): boolean {
  if (pattern === "*") return text !== "";
  if (pattern.startsWith("*")) return text.endsWith(pattern.slice(1));
  return pattern.endsWith("*") ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
}

/** Each pattern is tried on many identities, so that few are compiled. */
const rounds = Array.from({ length: 200 }, (_, round) => round);
const identities = Array.from({ length: 50 }, identity);

test("principals: exact, prefix, suffix, presence; 10,000 comparisons", () => {
  for (const round of rounds) {
    const id = principalOf(identity());
    const at = (round * 7) % id.length;
    const pattern = [id, `${id.slice(0, at)}*`, `*${id.slice(at)}`, "*"][round % 4] ?? "";
    const matches = reader(principalMatch(pattern));
    for (const other of identities.map(principalOf))
      expect(matches(`spiffe://${other}`), `${pattern} on ${other}`).toBe(reads(pattern, other));
    expect(matches("")).toBe(false);
  }
});

test("namespaces, accounts and trust domains are their own text, whatever characters are in it", () => {
  for (const _ of rounds) {
    const wanted = identity();
    const inNamespace = reader(namespaceMatch(wanted.namespace.replaceAll("*", "")));
    const isAccount = reader(serviceAccountMatch(`${wanted.namespace}/${wanted.account}`, "own"));
    const isOwnAccount = reader(serviceAccountMatch(wanted.account.replaceAll("/", ""), "a"));
    const inDomain = reader(trustDomainMatch(wanted.domain));
    for (const id of identities) {
      const uri = `spiffe://${principalOf(id)}`;
      expect(inNamespace(uri)).toBe(id.namespace === wanted.namespace.replaceAll("*", ""));
      expect(isAccount(uri)).toBe(id.namespace === wanted.namespace && id.account === wanted.account);
      expect(isOwnAccount(uri)).toBe(id.namespace === "a" && id.account === wanted.account);
      expect(inDomain(uri)).toBe(id.domain === wanted.domain);
    }
  }
});

test("a wildcard in a trust domain stays within it", () => {
  const matches = reader(trustDomainMatch("cluster*"));
  expect(matches("spiffe://cluster.local/ns/a/sa/b")).toBe(true);
  expect(matches("spiffe://evil/cluster.local/ns/a/sa/b")).toBe(false);
  expect(reader(trustDomainMatch("*.local"))("spiffe://evil.example/x.local/ns/a/sa/b")).toBe(false);
});
