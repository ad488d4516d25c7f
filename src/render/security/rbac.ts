/** Policies of one action in; Envoy's RBAC rules for them, those enforced and those only tried, out. */
import { create } from "@bufbuild/protobuf";
import {
  PolicySchema,
  type RBAC,
  RBAC_Action,
  RBACSchema,
  type Policy as RbacPolicy,
} from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import type { AuthorizationRule } from "../../model/index.ts";
import { permissions, principals } from "./logic.ts";
import { type Action, isDryRun, type Policy } from "./policies.ts";
import { rulePolicy } from "./rule.ts";
import type { TrustDomains } from "./trust-domain.ts";

export type PolicyProtocol = "http" | "tcp";

export interface RbacContext {
  readonly protocol: PolicyProtocol;
  readonly trustDomains: TrustDomains;
  /** Told of each policy that is in the result. */
  note(policy: Policy, field: string): void;
  tell(policy: Policy, field: string, problem: string): void;
}

/** Absent where there is no policy of that sort; present and empty where none of its rules can match. */
export interface RuleSets {
  readonly enforced: RBAC | undefined;
  readonly tried: RBAC | undefined;
}

/** What a rule is called in statistics and dry runs. */
export type RuleName = (policy: Policy["meta"], index: number) => string;

export const ruleName =
  (prefix = ""): RuleName =>
  ({ namespace, name }, index) =>
    `${prefix}ns[${namespace}]-policy[${name}]-rule[${index}]`;

export function ruleSets(
  policies: readonly Policy[],
  action: Action,
  context: RbacContext,
  nameOf: RuleName = ruleName(),
): RuleSets {
  const of = (chosen: readonly Policy[]): RBAC | undefined =>
    chosen.length === 0 ? undefined : rules(chosen, action, context, nameOf);
  return {
    enforced: of(policies.filter((policy) => !isDryRun(policy))),
    tried: of(policies.filter(isDryRun)),
  };
}

const actions: Readonly<Record<Action, RBAC_Action>> = {
  ALLOW: RBAC_Action.ALLOW,
  DENY: RBAC_Action.DENY,
  AUDIT: RBAC_Action.LOG,
  // What matches is not let through by itself: the external service decides.
  CUSTOM: RBAC_Action.DENY,
};

export function emptyRules(action: Action): RBAC {
  return create(RBACSchema, { action: actions[action] });
}

function rules(policies: readonly Policy[], action: Action, context: RbacContext, ruleNameOf: RuleName): RBAC {
  const rbac = emptyRules(action);
  for (const policy of policies) {
    const { namespace } = policy.meta;
    const nameOf = (index: number): string => ruleNameOf(policy.meta, index);
    const written: readonly (AuthorizationRule | null)[] = policy.spec.rules ?? [];
    // No rule at all: matches nothing, so ALLOW allows nothing.
    if (written.length === 0) rbac.policies[nameOf(0)] = never();
    for (const [index, rule] of written.entries()) {
      const tell = (problem: string): void => context.tell(policy, `spec.rules[${index}]`, problem);
      const made = rule && rulePolicy(rule, { ...context, namespace, allows: action === "ALLOW", tell });
      if (made) rbac.policies[nameOf(index)] = made;
    }
    context.note(policy, "spec.rules");
  }
  return rbac;
}

const never = (): RbacPolicy =>
  create(PolicySchema, {
    permissions: [permissions.not(permissions.any)],
    principals: [principals.not(principals.any)],
  });
