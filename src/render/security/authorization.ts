/** The policies that a proxy is under in; the settings of its authorisation filters, in their order on the wire, out. */

import type { RBAC } from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import type { MetadataMatcher } from "../../gen/envoy/type/matcher/v3/metadata_pb.js";
import { compareText } from "../../lib/index.ts";
import { type InboundFacet, objectName } from "../../model/index.ts";
import { prefixMatch } from "../build/match.ts";
import type { View } from "../view.ts";
import { externalProvider, type HttpExtAuthz, type TcpExtAuthz } from "./external-provider.ts";
import { type Action, meshTrustDomains, type Policy, policiesOf } from "./policies.ts";
import { emptyRules, type PolicyProtocol, type RbacContext, type RuleName, ruleName, ruleSets } from "./rbac.ts";
import { metadataMatch, textValue } from "./token-match.ts";

/** The fields that the HTTP and the network filter have in common. */
export interface RbacSettings {
  readonly rules?: RBAC;
  readonly shadowRules?: RBAC;
  readonly shadowRulesStatPrefix?: string;
}

export type AuthorizationFilter =
  | { readonly kind: "rbac"; readonly settings: RbacSettings }
  | { readonly kind: "external-http"; readonly settings: HttpExtAuthz }
  | { readonly kind: "external-tcp"; readonly settings: TcpExtAuthz };

const rbacNames: Readonly<Record<PolicyProtocol, string>> = {
  http: "envoy.filters.http.rbac",
  tcp: "envoy.filters.network.rbac",
};
export const rbacName = (protocol: PolicyProtocol): string => rbacNames[protocol];

function contextOf(view: View<InboundFacet>, protocol: PolicyProtocol): RbacContext {
  return {
    protocol,
    trustDomains: meshTrustDomains(view),
    note: ({ meta }, field) => view.mesh.graph.note(objectName("AuthorizationPolicy", meta), field),
    tell: ({ meta }, field, problem) => view.tell({ object: objectName("AuthorizationPolicy", meta), field, problem }),
  };
}

/** AUDIT sees every request, DENY goes before ALLOW. */
export function localAuthorization(view: View<InboundFacet>, protocol: PolicyProtocol): readonly AuthorizationFilter[] {
  const order: readonly Action[] = ["AUDIT", "DENY", "ALLOW"];
  return order.flatMap((action) => {
    const policies = policiesOf(view, action);
    if (policies.length === 0) return [];
    const { enforced, tried } = ruleSets(policies, action, contextOf(view, protocol));
    const settings: RbacSettings = {
      ...(enforced ? { rules: enforced } : {}),
      ...(tried ? { shadowRules: tried } : {}),
      shadowRulesStatPrefix: triedPrefix(action, tried !== undefined),
    };
    return [{ kind: "rbac" as const, settings }];
  });
}

export interface PlainRules {
  readonly action: "DENY" | "ALLOW";
  readonly rules: RBAC;
}

/** What is enforced, for servers that know nothing else: no audits, no dry runs, no external service. */
export function plainAuthorization(view: View<InboundFacet>): readonly PlainRules[] {
  for (const { meta } of policiesOf(view, "CUSTOM"))
    view.tell({
      object: objectName("AuthorizationPolicy", meta),
      field: "spec.action",
      problem: "gRPC servers without a proxy cannot ask an external service; there it is not enforced",
    });
  const order = ["DENY", "ALLOW"] as const;
  return order.flatMap((action) => {
    const nameOf: RuleName = ({ namespace, name }, index) => `${namespace}-${name}-${index}`;
    const { enforced } = ruleSets(policiesOf(view, action), action, contextOf(view, "http"), nameOf);
    return enforced ? [{ action, rules: enforced }] : [];
  });
}

/** What dashboards of dry runs look for; without a dry run Istio writes the one for ALLOW. */
function triedPrefix(action: Action, tried: boolean): string {
  if (!tried || action === "ALLOW") return "istio_dry_run_allow_";
  return action === "DENY" ? "istio_dry_run_deny_" : "";
}

const matchPrefix = "istio-ext-authz";
const statPrefix = "istio_ext_authz_";

/**
 * CUSTOM: a first filter only notes, as metadata, which rule a request matches; a second one asks the external service
 * about those requests. More than one provider is refused, as Istio does by default, since nobody can say which decides.
 */
export function customAuthorization(
  view: View<InboundFacet>,
  protocol: PolicyProtocol,
): readonly AuthorizationFilter[] {
  const byProvider = Map.groupBy(policiesOf(view, "CUSTOM"), ({ spec }) => spec.provider?.name ?? "");
  const names = [...byProvider.keys()].sort(compareText);
  return names.flatMap((name) => {
    const policies = byProvider.get(name) ?? [];
    return providerFilters(view, protocol, name, policies, names.length > 1);
  });
}

function providerFilters(
  view: View<InboundFacet>,
  protocol: PolicyProtocol,
  name: string,
  policies: readonly Policy[],
  ambiguous: boolean,
): readonly AuthorizationFilter[] {
  const named = name === "" ? `${matchPrefix}-` : `${matchPrefix}-${name}-`;
  const context = contextOf(view, protocol);
  const sets = ruleSets(policies, "CUSTOM", context, ruleName(named));
  const asked = sets.enforced ?? emptyRules("CUSTOM");
  const provider = ambiguous
    ? { problem: "a workload may have policies of one provider only" }
    : externalProvider(view, name);
  if ("problem" in provider) {
    const told = `${name}: ${provider.problem}; what it should judge is refused`;
    for (const policy of policies) context.tell(policy, "spec.provider", told);
    return [{ kind: "rbac", settings: { rules: refuseInstead(asked) } }];
  }
  const { tried } = sets;
  const first: AuthorizationFilter = {
    kind: "rbac",
    settings: {
      shadowRules: asked,
      shadowRulesStatPrefix: statPrefix,
      ...(tried && Object.keys(tried.policies).length > 0 ? { rules: tried } : {}),
    },
  };
  const filterEnabledMetadata = askedAbout(protocol, name);
  if (protocol === "http")
    return [first, { kind: "external-http", settings: { ...provider.http, filterEnabledMetadata } }];
  if (!provider.tcp) return [];
  return [first, { kind: "external-tcp", settings: { ...provider.tcp, filterEnabledMetadata } }];
}

/** What the service should have judged is refused: a provider that is missing or wrong must not open the door. */
function refuseInstead(rules: RBAC): RBAC {
  const policies = Object.entries(rules.policies).map(
    ([name, policy]) => [`${name}-deny-due-to-bad-CUSTOM-action`, policy] as const,
  );
  return { ...rules, policies: Object.fromEntries(policies) };
}

/** Requests for which the first filter noted a rule of this provider. */
function askedAbout(protocol: PolicyProtocol, provider: string): MetadataMatcher {
  const value = textValue(prefixMatch(`${matchPrefix}-${provider}`));
  return metadataMatch(rbacName(protocol), [`${statPrefix}shadow_effective_policy_id`], value);
}
