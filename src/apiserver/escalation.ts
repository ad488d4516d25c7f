/** Nobody may grant what they do not have: a write of an RBAC object in, nothing or a refusal out. */
import type { KubeObject } from "../model/index.ts";
import { createAuthorizer, rulesCover, rulesOf } from "./authorizer.ts";
import type { WriteContext } from "./context.ts";
import { failure } from "./failure.ts";

export function checkEscalation(context: WriteContext, object: KubeObject): void {
  const { kind, namespace } = context.request;
  if (kind.group !== "rbac.authorization.k8s.io") return;
  const authorizer = createAuthorizer(context.store);
  const { user } = context;
  const isBinding = kind.kind.endsWith("Binding");
  const granted = isBinding ? authorizer.roleRules(object, namespace) : rulesOf(object);
  const verb = isBinding ? "bind" : "escalate";
  const plural = kind.plural.replace("bindings", "s");
  const exempt = authorizer.authorize(user, {
    verb,
    group: kind.group,
    resource: plural,
    subresource: "",
    namespace: namespace ?? "",
    name: object.metadata.name,
  });
  if (exempt.allowed || rulesCover(authorizer.rulesFor(user, namespace), granted)) return;
  throw failure(
    "Forbidden",
    `${kind.plural}.${kind.group} "${object.metadata.name}" is forbidden: user "${user.name}" (groups=${JSON.stringify(user.groups)}) is attempting to grant RBAC permissions not currently held`,
    { name: object.metadata.name, group: kind.group, kind: kind.plural },
  );
}
