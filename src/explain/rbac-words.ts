/** What RBAC decided in; the words for people, the objects behind it, and Envoy's own words out. */
import { type RBAC, RBAC_Action } from "../gen/envoy/config/rbac/v3/rbac_pb.js";
import { policyOrigin, type RbacVerdict } from "./rbac.ts";
import type { Hint } from "./trace.ts";

export function rulesText({ action }: RBAC, { matched, allowed }: RbacVerdict): string {
  const word = RBAC_Action[action] ?? "";
  if (matched) {
    const origin = policyOrigin(matched.name);
    const rule = origin ? `rule ${origin.rule} of ${showObject(origin.object)}` : matched.name;
    return `${allowed ? "allowed" : "refused"}: ${word} ${rule} matches`;
  }
  return allowed ? `no ${word} rule matches` : `refused: no ${word} rule matches`;
}

/** `AuthorizationPolicy shop/deny-admin`, as people write it. */
const showObject = (object: string): string => object.replace("/", " ");

export function ruleHints(rules: RBAC, { matched, allowed }: RbacVerdict): readonly Hint[] {
  if (matched) {
    const origin = policyOrigin(matched.name);
    if (!origin) return [];
    const rule = `spec.rules[${origin.rule}]`;
    const fields = matched.fields.filter((field) => !field.startsWith("when"));
    return fields.length === 0
      ? [{ object: origin.object, field: rule }]
      : fields.map((field) => ({ object: origin.object, field: `${rule}.${field}` }));
  }
  if (allowed) return [];
  const objects = Object.keys(rules.policies).flatMap((name) => policyOrigin(name)?.object ?? []);
  return [...new Set(objects)].map((object) => ({ object, field: "spec.rules" }));
}

/** In the access log. */
export const denied = ({ matched }: RbacVerdict): string =>
  `rbac_access_denied_matched_policy[${matched?.name.replaceAll(" ", "_") ?? "none"}]`;
