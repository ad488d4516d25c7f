/** The one place that decides who may do what: a user and an action in, yes or no with the reason out, from the RBAC objects in the store. */
import type { KubeObject } from "../model/index.ts";
import { listAt, textAt } from "./access.ts";
import { type Action, allows, everyRule, type Rule, rulesOf } from "./rules.ts";
import type { Store } from "./store.ts";
import type { User } from "./user.ts";

export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface Authorizer {
  authorize(user: User, action: Action): Verdict;
  /** All rules that hold for the user in the namespace (cluster-wide ones included). */
  rulesFor(user: User, namespace: string | undefined): readonly Rule[];
  /** The rules of the role that a binding names; undefined where there is no such role. */
  roleRules(binding: KubeObject): readonly Rule[] | undefined;
}

const rbac = "rbac.authorization.k8s.io";
const superuserGroup = "system:masters";
export function createAuthorizer(store: Store): Authorizer {
  const roleRules = (binding: KubeObject): readonly Rule[] | undefined => {
    const role = roleOf(store, binding);
    return role && rulesOf(role);
  };
  /** Each binding of the user with the rules that it brings, cluster-wide ones first. */
  function* grants(user: User, namespace: string | undefined): Generator<Grant> {
    const names = namesOf(user);
    for (const binding of store.list(`${rbac}/clusterrolebindings`)) {
      const subject = subjectOf(binding, names);
      if (subject) yield { binding, subject, rules: roleRules(binding) ?? [] };
    }
    if (!namespace) return;
    for (const binding of store.list(`${rbac}/rolebindings`)) {
      if (binding.metadata.namespace !== namespace) continue;
      const subject = subjectOf(binding, names);
      if (subject) yield { binding, subject, rules: roleRules(binding) ?? [] };
    }
  }
  return {
    authorize(user, action) {
      if (user.groups.includes(superuserGroup)) return { allowed: true, reason: "" };
      const namespace = "path" in action ? undefined : action.namespace;
      for (const grant of grants(user, namespace))
        if (grant.rules.some((rule) => allows(rule, action))) return { allowed: true, reason: reasonOf(grant) };
      return { allowed: false, reason: "" };
    },
    rulesFor(user, namespace) {
      if (user.groups.includes(superuserGroup)) return everyRule;
      return [...grants(user, namespace)].flatMap(({ rules }) => rules);
    },
    roleRules,
  };
}

interface Grant {
  readonly binding: KubeObject;
  /** The first of its subjects that the user is. */
  readonly subject: unknown;
  readonly rules: readonly Rule[];
}

/** A ClusterRoleBinding can only name a ClusterRole: a Role is of one namespace, and it has none. */
function roleOf(store: Store, binding: KubeObject): KubeObject | undefined {
  const name = textAt(binding, "roleRef", "name");
  switch (textAt(binding, "roleRef", "kind")) {
    case "ClusterRole":
      return store.get(`${rbac}/clusterroles`, name);
    case "Role": {
      const { namespace } = binding.metadata;
      return binding.kind === "RoleBinding" && namespace
        ? store.get(`${rbac}/roles`, `${namespace}/${name}`)
        : undefined;
    }
    default:
      return undefined;
  }
}

function reasonOf({ binding, subject }: Grant): string {
  const { name, namespace } = binding.metadata;
  const [role, roleName] = [textAt(binding, "roleRef", "kind"), textAt(binding, "roleRef", "name")];
  const kind = textAt(subject, "kind");
  const who = textAt(subject, "name");
  const to = kind === "ServiceAccount" ? `${who}/${textAt(subject, "namespace") || namespace}` : who;
  return `RBAC: allowed by ${binding.kind} "${namespace === undefined ? name : `${name}/${namespace}`}" of ${role} "${roleName}" to ${kind} "${to}"`;
}

/** What subjects of bindings the user is. */
function namesOf({ name, groups }: User): ReadonlySet<string> {
  return new Set([`user ${name}`, ...groups.map((group) => `group ${group}`)]);
}

/** The first of a binding's subjects that the user is. Of the two the shorter is gone through: either may have thousands. */
function subjectOf(binding: KubeObject, names: ReadonlySet<string>): unknown {
  const places = placesOf(binding);
  const shared = places.size < names.size ? places.keys().filter((name) => names.has(name)) : names.values();
  const found = shared.reduce((least, name) => Math.min(least, places.get(name) ?? least), Number.POSITIVE_INFINITY);
  return listAt(binding, "subjects")[found];
}

/** Stored objects are never changed, and every request asks for all bindings: some have thousands of subjects. */
const known = new WeakMap<KubeObject, ReadonlyMap<string, number>>();

/** Names are compared as they are: `*` is a name like any other. */
function placesOf(binding: KubeObject): ReadonlyMap<string, number> {
  const made = known.get(binding);
  if (made) return made;
  const places = new Map<string, number>();
  for (const [i, subject] of listAt(binding, "subjects").entries()) {
    const who = nameOf(binding, subject);
    if (who !== undefined && !places.has(who)) places.set(who, i);
  }
  known.set(binding, places);
  return places;
}

function nameOf(binding: KubeObject, subject: unknown): string | undefined {
  const name = textAt(subject, "name");
  switch (textAt(subject, "kind")) {
    case "User":
      return `user ${name}`;
    case "Group":
      return `group ${name}`;
    case "ServiceAccount": {
      const namespace = textAt(subject, "namespace") || binding.metadata.namespace;
      return namespace === undefined ? undefined : `user system:serviceaccount:${namespace}:${name}`;
    }
    default:
      return undefined;
  }
}
