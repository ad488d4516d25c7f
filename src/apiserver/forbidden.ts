/** A user and an action in, nothing or the refusal that Kubernetes would answer out. */
import type { Authorizer } from "./authorizer.ts";
import { failure } from "./failure.ts";
import type { Action } from "./rules.ts";
import type { User } from "./user.ts";

export function requireAllowed(authorizer: Authorizer, user: User, action: Action): void {
  const verdict = authorizer.authorize(user, action);
  if (!verdict.allowed) throw forbidden(user, action);
}

function forbidden(user: User, action: Action): Error {
  if ("path" in action)
    return failure("Forbidden", `forbidden: User "${user.name}" cannot ${action.verb} path "${action.path}"`);
  const { verb, group, resource, subresource, namespace, name } = action;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const kind = group === "" ? resource : `${resource}.${group}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return failure(
    "Forbidden",
    `${kind}${name === "" ? "" : ` "${name}"`} is forbidden: User "${user.name}" cannot ${verb} resource "${full}" in API group "${group}" ${where}`,
    { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: resource },
  );
}
