/** Nobody may grant what they do not have: a write of an RBAC object in, nothing or a refusal out. */
import type { KubeObject } from "../model/index.ts";
import { at, recordAt, textAt } from "./access.ts";
import type { WriteContext } from "./context.ts";
import { equalJson } from "./equal.ts";
import { failure, notFound } from "./failure.ts";
import { everyRule, type Rule, rulesOf, uncovered } from "./rules.ts";

const rbac = "rbac.authorization.k8s.io";

/** `written` is the object as the client wrote it, before the API filled in what it owns. */
export function checkEscalation(
  context: WriteContext,
  object: KubeObject,
  before: KubeObject | undefined,
  written: KubeObject,
): void {
  const { kind } = context.request;
  if (kind.group !== rbac || (before && isOnlyRelease(written, before))) return;
  if (kind.kind.endsWith("Binding")) checkBinding(context, object);
  else checkRole(context, object, before);
}

/** Finalizers and owners may be taken off, so that an object can be deleted, by whoever may change it. */
function isOnlyRelease(object: KubeObject, before: KubeObject): boolean {
  const rest = (of: KubeObject): unknown => {
    const {
      ownerReferences: _o,
      finalizers: _f,
      managedFields: _m,
      resourceVersion: _r,
      ...metadata
    } = recordAt(of, "metadata");
    return { ...of, metadata };
  };
  return equalJson(rest(object), rest(before));
}

function checkRole(context: WriteContext, object: KubeObject, before: KubeObject | undefined): void {
  const { kind, name = "", namespace = "" } = context.request;
  // By the name of the request: what is only being created has none yet that a role could be limited to.
  const action = { verb: "escalate", group: rbac, resource: kind.plural, subresource: "", namespace, name };
  if (context.authorizer.authorize(context.user, action).allowed) return;
  const aggregation = at(object, "aggregationRule");
  // What such a role will bring together cannot be known beforehand.
  if (aggregation !== undefined && !equalJson(aggregation, at(before, "aggregationRule")))
    requireRules(context, object, everyRule, "must have cluster-admin privileges to use the aggregationRule");
  requireRules(context, object, rulesOf(object));
}

/** The right to bind is looked for on the role that is bound, by its own name. */
function checkBinding(context: WriteContext, object: KubeObject): void {
  const { namespace = "" } = context.request;
  const [kind, name] = [textAt(object, "roleRef", "kind"), textAt(object, "roleRef", "name")];
  // Another kind is told apart when the object is checked.
  if (kind !== "ClusterRole" && kind !== "Role") return;
  const resource = kind === "ClusterRole" ? "clusterroles" : "roles";
  const action = { verb: "bind", group: rbac, resource, subresource: "", namespace, name };
  if (context.authorizer.authorize(context.user, action).allowed) return;
  if (kind === "Role" && context.request.namespace === undefined)
    throw failure("BadRequest", "a ClusterRoleBinding is of no namespace, and a Role is: name a ClusterRole");
  const granted = context.authorizer.roleRules(object);
  // It would come to life with the role that somebody else makes later.
  if (!granted) throw notFound({ group: rbac, plural: resource, kind }, name);
  requireRules(context, object, granted);
}

function requireRules(context: WriteContext, object: KubeObject, granted: readonly Rule[], sentence?: string): void {
  const { user, request } = context;
  const missing = uncovered(context.authorizer.rulesFor(user, request.namespace), granted);
  if (missing === "too many")
    throw failure(
      "RequestEntityTooLarge",
      `the rules of the ${request.kind.kind} stand for too many permissions to be compared with your own: name fewer in one role`,
    );
  if (missing.length === 0) return;
  const { name } = object.metadata;
  const why =
    sentence ??
    `user "${user.name}" (groups=[${user.groups.map((group) => JSON.stringify(group)).join(" ")}]) is attempting to grant RBAC permissions not currently held:\n${compact(missing).map(ruleText).join("\n")}`;
  throw failure("Forbidden", `${request.kind.plural}.${rbac} "${name}" is forbidden: ${why}`, {
    name,
    group: rbac,
    kind: request.kind.plural,
  });
}

/** The verbs on one thing in one line. */
function compact(rules: readonly Rule[]): readonly Rule[] {
  const out = new Map<string, Rule>();
  for (const rule of rules) {
    const { verbs, ...rest } = rule;
    const key = rule.nonResourceURLs.length > 0 ? JSON.stringify(rule) : JSON.stringify(rest);
    const before = out.get(key);
    out.set(key, before ? { ...before, verbs: [...new Set([...before.verbs, ...verbs])] } : rule);
  }
  return [...out.values()];
}

function ruleText(rule: Rule): string {
  const fields: readonly (readonly [string, readonly string[]])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["ResourceNames", rule.resourceNames],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["Verbs", rule.verbs],
  ];
  const shown = fields
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name}:[${values.map((value) => JSON.stringify(value)).join(" ")}]`);
  return `{${shown.join(", ")}}`;
}
