/** The policies that a proxy is under in; the settings of its authorisation filters, in their order on the wire, out. */

import type { MetadataMatcher } from "../../gen/envoy/type/matcher/v3/metadata_pb.js";
import { compareText } from "../../lib/index.ts";
import { type InboundFacet, objectName } from "../../model/index.ts";
import { prefixMatch } from "../build/match.ts";
import type { Steps } from "../layer.ts";
import type { Part } from "../part.ts";
import type { View } from "../view.ts";
import { externalProvider, type HttpExtAuthz, type TcpExtAuthz } from "./external-provider.ts";
import { type Action, type Policy, policiesOf } from "./policies.ts";
import { emptyRules, type PolicyProtocol, plainNames, type RulePlace, ruleSets, ruleSteps } from "./rbac.ts";
import { metadataMatch, textValue } from "./token-match.ts";

/** The fields that the HTTP and the network filter have in common; rules are encoded. */
export interface RbacSettings {
  readonly rules?: Part;
  readonly shadowRules?: Part;
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

/** AUDIT sees every request, DENY goes before ALLOW. */
const localActions: readonly Action[] = ["AUDIT", "DENY", "ALLOW"];

export function localAuthorization(view: View<InboundFacet>, protocol: PolicyProtocol): readonly AuthorizationFilter[] {
  return localActions.flatMap((action) => {
    const policies = policiesOf(view, action);
    if (policies.length === 0) return [];
    const { enforced, tried } = ruleSets(view, policies, { action, protocol, names: plainNames });
    const settings: RbacSettings = {
      ...(enforced ? { rules: enforced } : {}),
      ...(tried ? { shadowRules: tried } : {}),
      shadowRulesStatPrefix: triedPrefix(action, tried !== undefined),
    };
    return [{ kind: "rbac" as const, settings }];
  });
}

/** Makes the rules of local authorisation a few at a time. */
export function* authorizationSteps(view: View<InboundFacet>, protocol: PolicyProtocol): Steps {
  for (const action of localActions)
    yield* ruleSteps(view, policiesOf(view, action), { action, protocol, names: plainNames });
}

export interface PlainRules {
  readonly action: "DENY" | "ALLOW";
  readonly rules: Part;
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
    const { enforced } = ruleSets(view, policiesOf(view, action), { action, protocol: "http", names: "grpc" });
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
  const prefix = name === "" ? `${matchPrefix}-` : `${matchPrefix}-${name}-`;
  const place = (suffix: string): RulePlace => ({ action: "CUSTOM", protocol, names: { prefix, suffix } });
  const provider = ambiguous
    ? { problem: "a workload may have policies of one provider only" }
    : externalProvider(view, name);
  if ("problem" in provider) {
    const problem = `${name}: ${provider.problem}; what it should judge is refused`;
    for (const { meta } of policies)
      view.tell({ object: objectName("AuthorizationPolicy", meta), field: "spec.provider", problem });
    // What the service should have judged is refused: a provider that is missing or wrong must not open the door.
    const { enforced } = ruleSets(view, policies, place("-deny-due-to-bad-CUSTOM-action"));
    return [{ kind: "rbac", settings: { rules: enforced ?? emptyRules("CUSTOM") } }];
  }
  const sets = ruleSets(view, policies, place(""));
  const nothing = emptyRules("CUSTOM");
  const { tried } = sets;
  const first: AuthorizationFilter = {
    kind: "rbac",
    settings: {
      shadowRules: sets.enforced ?? nothing,
      shadowRulesStatPrefix: statPrefix,
      ...(tried && tried.size > nothing.size ? { rules: tried } : {}),
    },
  };
  const filterEnabledMetadata = askedAbout(protocol, name);
  if (protocol === "http")
    return [first, { kind: "external-http", settings: { ...provider.http, filterEnabledMetadata } }];
  if (!provider.tcp) return [];
  return [first, { kind: "external-tcp", settings: { ...provider.tcp, filterEnabledMetadata } }];
}

/** Requests for which the first filter noted a rule of this provider. */
function askedAbout(protocol: PolicyProtocol, provider: string): MetadataMatcher {
  const value = textValue(prefixMatch(`${matchPrefix}-${provider}`));
  return metadataMatch(rbacName(protocol), [`${statPrefix}shadow_effective_policy_id`], value);
}
