/**
 * A connection and the policies that it meets in; the verdict out. R01: what can only be known of HTTP cannot be
 * enforced: a rule that refuses does so without asking for it, a rule that allows never matches.
 */
import { judge, type Verdict } from "./evaluate.ts";
import type { PolicyRequest } from "./request.ts";
import type { Scenario, Spec } from "./scenario.ts";

const httpFields = new Set(
  ["requestPrincipals", "hosts", "methods", "paths"].flatMap((name) => [
    name,
    `not${name[0]?.toUpperCase()}${name.slice(1)}`,
  ]),
);
const isHttpKey = (key: unknown): boolean => /^request\.(headers|auth)/.test(String(key));

export function judgeTcp(scenario: Scenario, connection: PolicyRequest, port: number): Verdict {
  const policies = scenario.policies.map((policy) => {
    const allows = (policy.action ?? "ALLOW") === "ALLOW";
    const rules = specs(policy.rules).flatMap((rule) =>
      allows ? (usesHttp(rule) ? [] : [rule]) : [withoutHttp(rule)],
    );
    return policy.rules === undefined ? policy : { ...policy, rules };
  });
  const verdict = judge({ ...scenario, policies }, connection, port);
  return verdict === "forbidden" ? "refused" : verdict;
}

const specs = (value: unknown): readonly Spec[] => (Array.isArray(value) ? (value as Spec[]) : []);

function usesHttp(rule: Spec): boolean {
  const parts = [...specs(rule.from), ...specs(rule.to)].flatMap((one) => Object.values(one) as Spec[]);
  return (
    parts.some((part) => Object.keys(part).some((field) => httpFields.has(field))) ||
    specs(rule.when).some(({ key }) => isHttpKey(key))
  );
}

function withoutHttp(rule: Spec): Spec {
  const strip = (part: Spec): Spec =>
    Object.fromEntries(Object.entries(part).filter(([field]) => !httpFields.has(field)));
  return {
    ...(rule.from ? { from: specs(rule.from).map(({ source }) => ({ source: strip(source as Spec) })) } : {}),
    ...(rule.to ? { to: specs(rule.to).map(({ operation }) => ({ operation: strip(operation as Spec) })) } : {}),
    when: specs(rule.when).filter(({ key }) => !isHttpKey(key)),
  };
}
