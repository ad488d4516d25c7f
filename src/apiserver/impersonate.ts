/** A user and the Impersonate headers of a request in, the user to act as out; each part of whom to act as has to be allowed itself. */
import type { Authorizer } from "./authorizer.ts";
import { failure } from "./failure.ts";
import { requireAllowed } from "./forbidden.ts";
import { headerOf, headersOf, type Request } from "./respond.ts";
import type { User } from "./user.ts";

const extraPrefix = "impersonate-extra-";
const authentication = "authentication.k8s.io";

export function impersonate(authorizer: Authorizer, user: User, request: Request): User {
  const name = headerOf(request, "impersonate-user") ?? "";
  const uid = headerOf(request, "impersonate-uid") ?? "";
  const groups = headersOf(request, "impersonate-group");
  const extra = extraOf(request);
  if (name === "") {
    if (groups.length > 0 || uid !== "" || Object.keys(extra).length > 0)
      throw failure("BadRequest", "requested groups, a uid or extra without impersonating a user");
    return user;
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const [, namespace = "", accountName = ""] = account ?? [];
  const check = (group: string, resource: string, of: { name: string; subresource?: string; namespace?: string }) =>
    requireAllowed(authorizer, user, {
      verb: "impersonate",
      group,
      resource,
      subresource: of.subresource ?? "",
      namespace: of.namespace ?? "",
      name: of.name,
    });
  if (account) check("", "serviceaccounts", { namespace, name: accountName });
  else check("", "users", { name });
  for (const group of groups) check("", "groups", { name: group });
  for (const [key, values] of Object.entries(extra))
    for (const value of values) check(authentication, "userextras", { subresource: key, name: value });
  if (uid !== "") check(authentication, "uids", { name: uid });
  return { name, uid, groups: groupsOf(name, groups, account ? namespace : undefined), extra };
}

function groupsOf(name: string, asked: readonly string[], namespace: string | undefined): readonly string[] {
  const own =
    namespace === undefined || asked.length > 0
      ? []
      : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const known = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  return [...new Set([...asked, ...own, known])];
}

/** Keys come in header names, so they are lower case, and what a header name cannot hold is percent-encoded. */
function extraOf(request: Request): Readonly<Record<string, readonly string[]>> {
  const names = Object.keys(request.headers).filter((name) => name.startsWith(extraPrefix));
  return Object.fromEntries(names.map((name) => [decoded(name.slice(extraPrefix.length)), headersOf(request, name)]));
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
