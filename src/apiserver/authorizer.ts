/** The one place that decides who may do what: a user and an action in, yes or no with the reason out, from the RBAC objects in the store. */
import type { KubeObject } from "../model/index.ts";
import { listAt, textAt, textsAt } from "./access.ts";
import type { Store } from "./store.ts";
import type { User } from "./user.ts";

export interface ResourceAction {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty for cluster-scoped kinds, and for requests over all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface PathAction {
  readonly verb: string;
  readonly path: string;
}

export type Action = ResourceAction | PathAction;

export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface Authorizer {
  authorize(user: User, action: Action): Verdict;
  /** All rules that hold for the user in the namespace (cluster-wide ones included). */
  rulesFor(user: User, namespace: string | undefined): readonly Rule[];
  /** The rules of the role that a binding names. */
  roleRules(binding: KubeObject, namespace: string | undefined): readonly Rule[];
}

const rbac = "rbac.authorization.k8s.io";
const superuserGroup = "system:masters";
const everything: Rule = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  resourceNames: [],
  nonResourceURLs: ["*"],
};

export function createAuthorizer(store: Store): Authorizer {
  const roleRules = (binding: KubeObject, namespace: string | undefined): readonly Rule[] => {
    const name = textAt(binding, "roleRef", "name");
    const isCluster = textAt(binding, "roleRef", "kind") === "ClusterRole";
    const role = isCluster
      ? store.get(`${rbac}/clusterroles`, name)
      : store.get(`${rbac}/roles`, `${binding.metadata.namespace ?? namespace}/${name}`);
    return role ? rulesOf(role) : [];
  };
  /** Each binding of the user with the rules that it brings, cluster-wide ones first. */
  function* grants(
    user: User,
    namespace: string | undefined,
  ): Generator<{ readonly binding: KubeObject; readonly rules: readonly Rule[] }> {
    for (const binding of store.list(`${rbac}/clusterrolebindings`))
      if (binds(binding, user)) yield { binding, rules: roleRules(binding, undefined) };
    if (!namespace) return;
    for (const binding of store.list(`${rbac}/rolebindings`))
      if (binding.metadata.namespace === namespace && binds(binding, user))
        yield { binding, rules: roleRules(binding, namespace) };
  }
  return {
    authorize(user, action) {
      if (user.groups.includes(superuserGroup)) return { allowed: true, reason: "" };
      const namespace = "path" in action ? undefined : action.namespace;
      for (const { binding, rules } of grants(user, namespace)) {
        if (!rules.some((rule) => allows(rule, action))) continue;
        const what = binding.kind;
        return {
          allowed: true,
          reason: `RBAC: allowed by ${what} "${binding.metadata.name}" of ${textAt(binding, "roleRef", "kind")} "${textAt(binding, "roleRef", "name")}"`,
        };
      }
      return { allowed: false, reason: "" };
    },
    rulesFor(user, namespace) {
      if (user.groups.includes(superuserGroup)) return [everything];
      return [...grants(user, namespace)].flatMap(({ rules }) => rules);
    },
    roleRules,
  };
}

export function rulesOf(role: KubeObject): readonly Rule[] {
  return listAt(role, "rules").map((rule) => ({
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  }));
}

/** True when everything that the granted rules allow is allowed by one of the held rules. */
export function rulesCover(held: readonly Rule[], granted: readonly Rule[]): boolean {
  const orNone = (items: readonly string[]): readonly string[] => (items.length === 0 ? [""] : items);
  return granted.every((rule) =>
    rule.verbs.every((verb) => {
      const urls = rule.nonResourceURLs.every((path) => held.some((h) => allowsPath(h, { verb, path })));
      const resources = rule.apiGroups.every((group) =>
        rule.resources.every((full) =>
          orNone(rule.resourceNames).every((name) =>
            held.some((h) => allows(h, { verb, group, ...splitResource(full), namespace: "", name })),
          ),
        ),
      );
      return urls && resources;
    }),
  );
}

function splitResource(full: string): { readonly resource: string; readonly subresource: string } {
  const at = full.indexOf("/");
  return at < 0
    ? { resource: full, subresource: "" }
    : { resource: full.slice(0, at), subresource: full.slice(at + 1) };
}

function binds(binding: KubeObject, user: User): boolean {
  return listAt(binding, "subjects").some((subject) => {
    const name = textAt(subject, "name");
    switch (textAt(subject, "kind")) {
      case "User":
        return name === "*" || name === user.name;
      case "Group":
        return user.groups.includes(name);
      case "ServiceAccount":
        return (
          user.name === `system:serviceaccount:${textAt(subject, "namespace") || binding.metadata.namespace}:${name}`
        );
      default:
        return false;
    }
  });
}

function allows(rule: Rule, action: Action): boolean {
  return "path" in action ? allowsPath(rule, action) : allowsResource(rule, action);
}

function allowsResource(rule: Rule, action: ResourceAction): boolean {
  const full = action.subresource === "" ? action.resource : `${action.resource}/${action.subresource}`;
  const anyOf = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
  return (
    anyOf(rule.verbs, action.verb) &&
    anyOf(rule.apiGroups, action.group) &&
    (anyOf(rule.resources, full) ||
      (action.subresource !== "" && rule.resources.includes(`*/${action.subresource}`))) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(action.name))
  );
}

function allowsPath(rule: Rule, action: PathAction): boolean {
  if (!rule.verbs.includes("*") && !rule.verbs.includes(action.verb)) return false;
  return rule.nonResourceURLs.some(
    (url) => url === "*" || url === action.path || (url.endsWith("*") && action.path.startsWith(url.slice(0, -1))),
  );
}
