/**
 * AuthorizationPolicies that ask who is calling, where callers need not say: R19. A client without a certificate is
 * nobody, so an ALLOW of all but some lets it in, and a DENY of some lets it pass. Verdicts stay Istio's; this tells.
 */
import {
  type AuthorizationPolicySpec,
  type AuthorizationRule,
  type AuthorizationSource,
  authorizationPolicy,
  type PeerAuthenticationSpec,
  peerAuthentication,
} from "../../model/index.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject } from "./objects.ts";

type Policy = AnalysedObject<AuthorizationPolicySpec>;
type Peers = AnalysedObject<PeerAuthenticationSpec>;
type Labels = Readonly<Record<string, string>>;

export const plaintextSources: Analyser = {
  name: "fairlead.PlaintextSourceAnalyzer",
  needsCluster: false,
  run(analysis) {
    const peers = analysis.objects.of(peerAuthentication);
    for (const policy of analysis.objects.of(authorizationPolicy)) {
      const fields = openFields(policy.spec);
      if (fields.length === 0 || !plaintextReaches(analysis, policy, peers)) continue;
      const verdict = policy.spec.action === "DENY" ? "is not denied by" : "is let in by";
      for (const path of fields)
        analysis.report(
          policy,
          "FLD0005",
          `A client without mutual TLS has no identity and ${verdict} ${path}. Set PeerAuthentication to STRICT, or ${advice(policy.spec)}.`,
          path,
        );
    }
  },
};

const advice = ({ action }: AuthorizationPolicySpec): string =>
  action === "DENY" ? 'deny notPrincipals: ["*"] as well' : 'also ask for principals: ["*"]';

const identities = ["principals", "namespaces", "serviceAccounts", "trustDomains"] as const;
const negated = ["notPrincipals", "notNamespaces", "notServiceAccounts", "notTrustDomains"] as const;
const identityKeys = ["source.principal", "source.namespace", "source.serviceAccount", "source.trustDomain"];

/** Fields whose answer for nobody is the one that opens: what ALLOW excludes, what DENY names. */
function openFields({ action = "ALLOW", rules = [] }: AuthorizationPolicySpec): readonly string[] {
  if (action !== "ALLOW" && action !== "DENY") return [];
  if (action === "DENY" && rules.some(deniesNobody)) return [];
  return rules.flatMap((rule, i) =>
    action === "ALLOW" && asksWho(rule) ? [] : identityFields(rule, `spec.rules[${i}]`, action === "ALLOW"),
  );
}

const has = (list: readonly string[] | undefined): boolean => (list ?? []).length > 0;
const namesWho = (source: AuthorizationSource = {}): boolean => identities.some((field) => has(source[field]));

/** Whether nobody can match the rule: all its conditions must hold, and one of its sources. */
function asksWho({ from = [], when = [] }: AuthorizationRule): boolean {
  const inEverySource = from.length > 0 && from.every(({ source }) => namesWho(source));
  return inEverySource || when.some(({ key = "", values }) => identityKeys.includes(key) && has(values));
}

/** A rule that is for clients without an identity and nothing else. */
const deniesNobody = ({ from = [], to = [], when = [] }: AuthorizationRule): boolean =>
  to.length + when.length === 0 &&
  from.some(({ source = {} }) => Object.keys(source).length === 1 && source.notPrincipals?.includes("*"));

function identityFields({ from = [], when = [] }: AuthorizationRule, path: string, not: boolean): readonly string[] {
  const sources = from.flatMap(({ source = {} }, j) =>
    // In ALLOW, beside a name that must match, one that must not opens nothing.
    not && namesWho(source)
      ? []
      : (not ? negated : identities).flatMap((field) =>
          has(source[field]) ? [`${path}.from[${j}].source.${field}`] : [],
        ),
  );
  const conditions = when.flatMap(({ key = "", values, notValues }, k) =>
    identityKeys.includes(key) && has(not ? notValues : values)
      ? [`${path}.when[${k}].${not ? "notValues" : "values"}`]
      : [],
  );
  return [...sources, ...conditions];
}

/** Whether some workload of the policy may take connections without mTLS, as far as labels can tell. */
function plaintextReaches({ mesh }: Analysis, policy: Policy, peers: readonly Peers[]): boolean {
  const { selector, targetRef, targetRefs } = policy.spec;
  // What is attached to a gateway or waypoint is not under PeerAuthentication.
  if (targetRef || targetRefs?.length) return false;
  const root = mesh.rootNamespace ?? "";
  const meshWide = modeOf(wide(peers, root), "PERMISSIVE");
  const inRoot = policy.meta.namespace === root;
  const namespaces = inRoot ? new Set(peers.map(({ meta }) => meta.namespace)) : [policy.meta.namespace];
  // Namespaces that say nothing have the mesh's mode.
  if (inRoot && meshWide !== "STRICT") return true;
  return [...namespaces].some((namespace) =>
    plaintextIn(namespace, namespace === root ? [] : peers, selector?.matchLabels ?? {}, meshWide),
  );
}

function plaintextIn(namespace: string, peers: readonly Peers[], labels: Labels, inherited: string): boolean {
  const mode = modeOf(wide(peers, namespace), inherited);
  const own = peers.filter(
    (peer) => peer.meta.namespace === namespace && !isWide(peer) && overlaps(labelsOf(peer), labels),
  );
  const covered = own.some((peer) => Object.entries(labelsOf(peer)).every(([key, value]) => labels[key] === value));
  const modes = own.flatMap((peer) => {
    const base = modeOf(peer, mode);
    return [base, ...Object.values(peer.spec.portLevelMtls ?? {}).map((port) => modeOfMtls(port, base))];
  });
  return [...modes, ...(covered ? [] : [mode])].some((one) => one !== "STRICT");
}

const labelsOf = ({ spec }: Peers): Labels => spec.selector?.matchLabels ?? {};
const isWide = (peer: Peers): boolean => Object.keys(labelsOf(peer)).length === 0;

/** A workload may have both. */
const overlaps = (a: Labels, b: Labels): boolean =>
  Object.entries(a).every(([key, value]) => b[key] === undefined || b[key] === value);

const wide = (peers: readonly Peers[], namespace: string): Peers | undefined =>
  peers.find((peer) => peer.meta.namespace === namespace && isWide(peer));

const modeOf = (peer: Peers | undefined, inherited: string): string => modeOfMtls(peer?.spec.mtls, inherited);
const modeOfMtls = (mtls: PeerAuthenticationSpec["mtls"], inherited: string): string =>
  mtls?.mode === undefined || mtls.mode === "UNSET" ? inherited : mtls.mode;
