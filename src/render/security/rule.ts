/** One rule of an AuthorizationPolicy in; Envoy's RBAC policy for it out, or nothing where it cannot match. */
import { create } from "@bufbuild/protobuf";
import { type Permission, type Policy, PolicySchema, type Principal } from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import type { AuthorizationOperation, AuthorizationRule, AuthorizationSource } from "../../model/index.ts";
import { type Condition, condition } from "./attribute.ts";
import { type Logic, permissions, principals } from "./logic.ts";
import { destinationPort, host, method, path, permissionAttribute } from "./permission-attributes.ts";
import {
  type PrincipalContext,
  principalAttribute,
  remoteIp,
  requestPrincipal,
  sourceIp,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
} from "./principal-attributes.ts";

export interface RuleContext extends PrincipalContext {
  readonly protocol: "http" | "tcp";
  /**
   * R01: a condition that cannot be enforced here is left out where the rule refuses (it then refuses more), and takes
   * the whole rule with it where it allows.
   */
  readonly allows: boolean;
  tell(problem: string): void;
}

export function rulePolicy(rule: AuthorizationRule, context: RuleContext): Policy | undefined {
  const when = whenConditions(rule, context);
  if (!when) return undefined;
  const targets = (rule.to ?? []).map(({ operation }) => operationConditions(operation ?? {}));
  const sources = (rule.from ?? []).map(({ source }) => sourceConditions(source ?? {}, context));
  const to = conjunctions(permissions, targets, when.target, context);
  const from = conjunctions(principals, sources, when.source, context);
  return to && from && create(PolicySchema, { permissions: to, principals: from });
}

interface WhenConditions {
  readonly target: readonly Condition<Permission>[];
  readonly source: readonly Condition<Principal>[];
}

/** Undefined where a key is unknown: nobody can say what such a rule means. */
function whenConditions({ when = [] }: AuthorizationRule, context: RuleContext): WhenConditions | undefined {
  const target: Condition<Permission>[] = [];
  const source: Condition<Principal>[] = [];
  for (const { key = "", values, notValues } of when) {
    const ofTarget = permissionAttribute(key);
    const ofSource = ofTarget ? undefined : principalAttribute(key, context);
    if (ofTarget) target.push(...condition(ofTarget, values, notValues));
    else if (ofSource) source.push(...condition(ofSource, values, notValues));
    else {
      context.tell(`nobody knows the key ${key}; the rule is left out`);
      return undefined;
    }
  }
  return { target, source };
}

/** The order is Istio's, and part of what is compared. */
const operationConditions = (operation: AuthorizationOperation): readonly Condition<Permission>[] => [
  ...condition(host, operation.hosts, operation.notHosts),
  ...condition(method, operation.methods, operation.notMethods),
  ...condition(path, operation.paths, operation.notPaths),
  ...condition(destinationPort, operation.ports, operation.notPorts),
];

const sourceConditions = (source: AuthorizationSource, context: PrincipalContext): readonly Condition<Principal>[] => [
  ...condition(sourcePrincipal(context), source.principals, source.notPrincipals),
  ...condition(requestPrincipal, source.requestPrincipals, source.notRequestPrincipals),
  ...condition(sourceServiceAccount(context), source.serviceAccounts, source.notServiceAccounts),
  ...condition(sourceTrustDomain(context), source.trustDomains, source.notTrustDomains),
  ...condition(sourceNamespace, source.namespaces, source.notNamespaces),
  ...condition(remoteIp, source.remoteIpBlocks, source.notRemoteIpBlocks),
  ...condition(sourceIp, source.ipBlocks, source.notIpBlocks),
];

/** A conjunction for each alternative, each with what `when` asks; that alone where there are no alternatives. */
function conjunctions<M>(
  logic: Logic<M>,
  alternatives: readonly (readonly Condition<M>[])[],
  when: readonly Condition<M>[],
  context: RuleContext,
): M[] | undefined {
  const all = alternatives.length === 0 ? [when] : alternatives.map((conditions) => [...conditions, ...when]);
  const made = all.map((conditions) => conjunction(logic, conditions, context));
  const complete = made.filter((one) => one !== undefined);
  return complete.length === made.length ? complete : undefined;
}

function conjunction<M>(logic: Logic<M>, conditions: readonly Condition<M>[], context: RuleContext): M | undefined {
  const parts: M[] = [];
  for (const one of conditions) {
    const positive = disjunction(logic, one, one.values, context);
    const negative = disjunction(logic, one, one.notValues, context);
    if (context.allows && !(positive.whole && negative.whole)) return undefined;
    if (positive.matcher) parts.push(positive.matcher);
    if (negative.matcher) parts.push(logic.not(negative.matcher));
  }
  return logic.and(parts.length > 0 ? parts : [logic.any]);
}

interface Disjunction<M> {
  readonly matcher: M | undefined;
  /** False where a value could not be enforced. */
  readonly whole: boolean;
}

function disjunction<M>(
  logic: Logic<M>,
  { attribute }: Condition<M>,
  values: readonly string[],
  { protocol, allows, tell }: RuleContext,
): Disjunction<M> {
  if (values.length === 0) return { matcher: undefined, whole: true };
  if (attribute.httpOnly && protocol === "tcp") return { matcher: undefined, whole: false };
  const matchers = attribute.match(values);
  const usable = matchers.filter((matcher) => matcher !== undefined).filter(logic.isSound);
  const whole = usable.length === matchers.length;
  if (!whole) {
    const outcome = allows ? "the rule does not match" : "the rule does not ask for it";
    tell(`${shortened(values)} cannot be enforced, so ${outcome}`);
  }
  if (usable.length === 0) return { matcher: undefined, whole };
  return { matcher: attribute.alternatives ? logic.or(usable) : usable[0], whole };
}

const shortened = (values: readonly string[]): string => values.join(", ").slice(0, 100);
