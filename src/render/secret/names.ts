/** A proxy's gateways and traffic rules in; the names of the Kubernetes secrets that its listeners and clusters ask for out. */
import type {
  BuildFacet,
  ClientTLSSettings,
  DestinationRuleSpec,
  GatewayServer,
  ServerTLSSettings,
  TrafficPolicy,
} from "../../model/index.ts";
import { credentialResource } from "../build/tls.ts";
import { buildFacet } from "../facets.ts";
import { isPassthrough, mergedGateways } from "../gateway/servers.ts";
import { internalAnnotation, isTranslated } from "../gateway/translated.ts";
import { gatewayListeners } from "../listener/gateway-plan.ts";
import { caCredentialName, credentialNames } from "../listener/gateway-tls.ts";
import { clientDecisions, publicDecision, publicServices } from "../outbound/decisions.ts";
import { memberRecipe, recipe } from "../recipe.ts";
import type { View } from "../view.ts";

const schemes = ["kubernetes://", "kubernetes-gateway://", "configmap://"];
const isKept = (name: string): boolean => schemes.some((scheme) => name.startsWith(scheme));

export function secretNames(view: View): readonly string[] {
  return [...new Set([...gatewayNames(view), ...clusterNames(view)])].filter(isKept).sort();
}

function gatewayNames(view: View): readonly string[] {
  if (view.proxy.type !== "router") return [];
  const chains = [...gatewayListeners(view).values()].flatMap((listener) => listener.chains);
  return chains.flatMap((chain) => (chain.kind === "passthrough" ? [] : serverNames(chain.tls)));
}

const terminated = (server: GatewayServer) => (isPassthrough(server) ? undefined : server.tls);

/** Certificates, and where clients show theirs the CA to check them with. */
function serverNames(tls: ServerTLSSettings | undefined): readonly string[] {
  if (!tls || tls.mode === "ISTIO_MUTUAL") return [];
  const own = credentialNames(tls);
  if (own.length === 0) return [];
  const isMutual = tls.mode === "MUTUAL" || tls.mode === "OPTIONAL_MUTUAL";
  return [...own, ...(isMutual ? [caCredentialName(tls)] : [])].map(credentialResource);
}

function clusterNames(view: View): readonly string[] {
  const { onPublic, services } = clientDecisions(view);
  const rules = new Set(services.values().map(({ rule }) => rule));
  return [...(onPublic ? publicNames(view) : []), ...[...rules].flatMap((rule) => namesOf(view, rule) ?? [])];
}

const publicNames = memberRecipe<BuildFacet, readonly string[], readonly string[]>(buildFacet, "public secret names", {
  list: publicServices,
  each: (view, service) => namesOf(view, publicDecision(view, service)?.rule ?? ""),
  whole: (names) => [...new Set([...names.values()].flat())],
});

const namesOf = (view: View<BuildFacet>, rule: string): readonly string[] | undefined => {
  const names = rule === "" ? [] : ruleNames(view, rule);
  return names.length > 0 ? names : undefined;
};

const ruleNames = recipe(buildFacet, "secret names of a rule", (view, ref): readonly string[] => {
  const rule = view.mesh.rule(ref);
  return rule ? tlsSettings(rule.spec).flatMap((tls) => clientNames(view, rule.spec, tls)) : [];
});

function tlsSettings({ trafficPolicy, subsets = [] }: DestinationRuleSpec): readonly ClientTLSSettings[] {
  const policies = [trafficPolicy, ...subsets.map((subset) => subset.trafficPolicy)].filter(
    (policy): policy is TrafficPolicy => policy !== undefined,
  );
  return policies
    .flatMap(({ tls, portLevelSettings = [] }) => [tls, ...portLevelSettings.map((port) => port.tls)])
    .filter((tls) => tls !== undefined);
}

/** A sidecar gets a Secret only by a rule that selects workloads. */
function clientNames(
  view: View<BuildFacet>,
  { workloadSelector }: DestinationRuleSpec,
  tls: ClientTLSSettings,
): readonly string[] {
  const { credentialName = "", mode, insecureSkipVerify } = tls;
  if (credentialName === "" || (mode !== "SIMPLE" && mode !== "MUTUAL")) return [];
  if (view.proxy.type === "sidecar" && !workloadSelector && !credentialName.startsWith("configmap://")) return [];
  const name = credentialResource(credentialName);
  return [...(mode === "MUTUAL" ? [name] : []), ...(insecureSkipVerify ? [] : [`${name}-cacert`])];
}

/**
 * Names that a gateway of the proxy's own namespace, or one that a ReferenceGrant was checked for, refers to. A Gateway
 * that runs as a known service account lends its references to nobody else.
 */
export function verifiedNames(view: View): ReadonlySet<string> {
  const { namespace, serviceAccount } = view.proxy;
  const servers = mergedGateways(view).ports.flatMap((port) => port.servers);
  const trusted = servers.filter(({ meta }) => {
    if (!isTranslated(meta)) return meta.namespace === namespace;
    const account = internalAnnotation(meta, "service-account-name") ?? "";
    const parent = internalAnnotation(meta, "parent-namespace") ?? meta.namespace;
    return parent === namespace && (account === "" || account === serviceAccount);
  });
  return new Set(
    trusted.flatMap(({ meta, server }) =>
      serverNames(terminated(server)).filter(
        (name) => isTranslated(meta) || name.startsWith(`kubernetes-gateway://${namespace}/`),
      ),
    ),
  );
}
