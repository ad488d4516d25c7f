/** A proxy's class in; the AuthorizationPolicies that it is under, by action, in the order of their precedence, out. */
import type { AuthorizationPolicySpec, Config, InboundFacet } from "../../model/index.ts";
import type { View } from "../view.ts";
import type { TrustDomains } from "./trust-domain.ts";

export type Policy = Config<AuthorizationPolicySpec>;
export type Action = NonNullable<AuthorizationPolicySpec["action"]>;

/** Those of the root namespace first, oldest first within each. */
export function policiesOf(view: View<InboundFacet>, action: Action): readonly Policy[] {
  return view.proxy.authorizationPolicies
    .flatMap((key) => view.mesh.authorizationPolicy(key) ?? [])
    .filter(({ spec }) => (spec.action ?? "ALLOW") === action);
}

/** R19 of Go's ParseBool: the annotation asks to try the policy without enforcing it. */
export function isDryRun({ meta }: Policy): boolean {
  return /^(1|t|T|TRUE|true|True)$/.test(meta.annotations?.["istio.io/dry-run"] ?? "");
}

export function meshTrustDomains(view: View<object>): TrustDomains {
  const { trustDomain, trustDomainAliases } = view.mesh.settings();
  return [trustDomain ?? "", ...(trustDomainAliases ?? [])];
}
