/**
 * Policies of one action in; Envoy's RBAC rules for them, those enforced and those only tried, encoded, out. The rules of a
 * policy are made a few at a time, once for all places that have it: somebody's policy may have thousands of values.
 */
import { create } from "@bufbuild/protobuf";
import {
  PolicySchema,
  RBAC_Action,
  RBACSchema,
  type Policy as RbacPolicy,
} from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import { type AuthorizationRule, objectName } from "../../model/index.ts";
import { meshFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { encodePart, joined, type Part, samePart } from "../part.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { permissions, principals } from "./logic.ts";
import { type Action, isDryRun, meshTrustDomains, type Policy } from "./policies.ts";
import { rulePolicy } from "./rule.ts";

export type PolicyProtocol = "http" | "tcp";

/** Absent where there is no policy of that sort; present and of the action alone where none of its rules can match. */
export interface RuleSets {
  readonly enforced: Part | undefined;
  readonly tried: Part | undefined;
}

/** What a rule is called in statistics and dry runs: by Istio's name between these, or as gRPC has it. */
export type RuleNames = { readonly prefix: string; readonly suffix: string } | "grpc";

export const plainNames: RuleNames = { prefix: "", suffix: "" };

export interface RulePlace {
  readonly action: Action;
  readonly protocol: PolicyProtocol;
  readonly names: RuleNames;
}

export function ruleSets(view: View<object>, policies: readonly Policy[], place: RulePlace): RuleSets {
  const of = (chosen: readonly Policy[]): Part | undefined =>
    chosen.length === 0
      ? undefined
      : joined([
          emptyRules(place.action),
          ...chosen.flatMap((policy) => chunksOf(policy, place).map((key) => ruleChunk(view, key))),
        ]);
  return {
    enforced: of(policies.filter((policy) => !isDryRun(policy))),
    tried: of(policies.filter(isDryRun)),
  };
}

/** Makes what `ruleSets` puts together. */
export function* ruleSteps(view: View<object>, policies: readonly Policy[], place: RulePlace): Steps {
  for (const key of policies.flatMap((policy) => chunksOf(policy, place))) {
    ruleChunk(view, key);
    yield;
  }
}

const actions: Readonly<Record<Action, RBAC_Action>> = {
  ALLOW: RBAC_Action.ALLOW,
  DENY: RBAC_Action.DENY,
  AUDIT: RBAC_Action.LOG,
  // What matches is not let through by itself: the external service decides.
  CUSTOM: RBAC_Action.DENY,
};

export function emptyRules(action: Action): Part {
  return encodePart(RBACSchema, create(RBACSchema, { action: actions[action] }));
}

/** So many rules are made in one go. */
const chunkRules = 32;

function chunksOf({ meta, spec }: Policy, { action, protocol, names }: RulePlace): readonly string[] {
  const count = Math.max(1, Math.ceil((spec.rules ?? []).length / chunkRules));
  const words = [`${meta.namespace}/${meta.name}`, action, protocol, JSON.stringify(names)];
  return Array.from({ length: count }, (_, chunk) => keyOf(...words, String(chunk)));
}

const ruleChunk = recipe(
  meshFacet,
  "authorization rules",
  (view, key): Part => {
    const [id = "", action = "", protocol = "", names = "", chunk = ""] = wordsOf(key);
    const policy = view.mesh.authorizationPolicy(id);
    const place = { action, protocol, names: JSON.parse(names) } as RulePlace;
    const policies = policy ? rulesFrom(view, policy, place, Number(chunk) * chunkRules) : {};
    return encodePart(RBACSchema, create(RBACSchema, { policies }));
  },
  samePart,
);

function rulesFrom(
  view: View<object>,
  policy: Policy,
  { action, protocol, names }: RulePlace,
  from: number,
): Readonly<Record<string, RbacPolicy>> {
  const { meta, spec } = policy;
  const written: readonly (AuthorizationRule | null)[] = spec.rules ?? [];
  const object = objectName("AuthorizationPolicy", meta);
  view.mesh.graph.note(object, "spec.rules");
  // No rule at all: matches nothing, so ALLOW allows nothing.
  if (written.length === 0) return { [ruleName(names, meta, 0)]: never() };
  const context = {
    protocol,
    trustDomains: meshTrustDomains(view),
    namespace: meta.namespace,
    allows: action === "ALLOW",
  };
  const made: Record<string, RbacPolicy> = {};
  for (const [at, rule] of written.slice(from, from + chunkRules).entries()) {
    const tell = (problem: string): void => view.tell({ object, field: `spec.rules[${from + at}]`, problem });
    const one = rule && rulePolicy(rule, { ...context, tell });
    if (one) made[ruleName(names, meta, from + at)] = one;
  }
  return made;
}

function ruleName(names: RuleNames, { namespace, name }: Policy["meta"], index: number): string {
  if (names === "grpc") return `${namespace}-${name}-${index}`;
  return `${names.prefix}ns[${namespace}]-policy[${name}]-rule[${index}]${names.suffix}`;
}

const never = (): RbacPolicy =>
  create(PolicySchema, {
    permissions: [permissions.not(permissions.any)],
    principals: [principals.not(principals.any)],
  });
