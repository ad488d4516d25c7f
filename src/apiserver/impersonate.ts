/** A user and the Impersonate headers of a request in, the user to act as out; to act as another has to be allowed itself. */
import type { Authorizer, ResourceAction } from "./authorizer.ts";
import { failure } from "./failure.ts";
import { headerOf, type Request } from "./respond.ts";
import type { User } from "./user.ts";

export function impersonate(authorizer: Authorizer, user: User, request: Request): User {
  const name = headerOf(request, "impersonate-user") ?? "";
  const groups = (headerOf(request, "impersonate-group") ?? "").split(", ").filter((group) => group !== "");
  if (name === "") {
    if (groups.length > 0) throw failure("BadRequest", "requested groups without impersonating a user");
    return user;
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const [, namespace = "", accountName = ""] = account ?? [];
  if (account) mayActAs(authorizer, user, { resource: "serviceaccounts", namespace, name: accountName });
  else mayActAs(authorizer, user, { resource: "users", namespace: "", name });
  for (const group of groups) mayActAs(authorizer, user, { resource: "groups", namespace: "", name: group });
  const own = account ? ["system:serviceaccounts", `system:serviceaccounts:${namespace}`] : [];
  return {
    name,
    uid: "",
    groups: [...new Set([...groups, ...(groups.length === 0 ? own : []), "system:authenticated"])],
    extra: {},
  };
}

function mayActAs(
  authorizer: Authorizer,
  user: User,
  who: Pick<ResourceAction, "resource" | "namespace" | "name">,
): void {
  if (authorizer.authorize(user, { verb: "impersonate", group: "", subresource: "", ...who }).allowed) return;
  throw failure(
    "Forbidden",
    `${who.resource} "${who.name}" is forbidden: User "${user.name}" cannot impersonate resource "${who.resource}" in API group "" at the cluster scope`,
  );
}
