/** Objects that name credentials, and the Secrets and ConfigMaps there are, in; which of these are missing, of no use or soon of none, out. */
import {
  type ClientTLSSettings,
  configMapCa,
  credentialState,
  type DestinationRuleSpec,
  destinationRule,
  type GatewayApiListener,
  type GatewaySpec,
  gateway,
  type KubeObject,
  kubeGateway,
  listenerSet,
  matchesLabels,
  type ServerTLSSettings,
  secretCa,
  secretKeyPair,
  type TrafficPolicy,
} from "../../model/index.ts";
import { finish } from "../steps.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import { toldOfSecrets } from "./gateway.ts";
import { type AnalysedObject, collectObjects, selectorText } from "./objects.ts";

type Part = "keyPair" | "ca";

/** A credential, as a field of an object names it. */
interface Named {
  readonly path: string;
  /** As written. */
  readonly credential: string;
  readonly part: Part;
}

interface Use extends Named {
  readonly object: AnalysedObject<unknown>;
  /** Where the proxies that are to have it run, and so where it is looked for. */
  readonly namespaces: readonly string[];
  /** Only some of these proxies need it, and nobody can tell which: that one of them finds it is enough. */
  readonly isForSome: boolean;
}

type Verdict = ReturnType<typeof credentialState> | { readonly state: "missing"; readonly cause: string };

const remedy = "Mend it: proxies are given the new one at once.";

/** What Istio's analyser says of a Gateway's `credentialName` is not said twice. */
export const credentials: Analyser = {
  name: "fairlead.CredentialAnalyzer",
  needsCluster: true,
  run(analysis) {
    const [verdict, isTold] = [judge(analysis), toldOfSecrets(analysis)];
    for (const use of usesOf(analysis)) {
      const { object, path, credential, part } = use;
      const all = use.namespaces.map((namespace) => ({ namespace, found: verdict(use, namespace) }));
      const isSomewhere = use.isForSome && all.some(({ found }) => found.state !== "missing");
      for (const { namespace, found } of all) {
        if (found.state === "missing" && isSomewhere) continue;
        const subject = `The credential ${credential}, for proxies in namespace ${namespace},`;
        if (found.state === "expiring") {
          const end = `has a certificate that expires at ${found.until.toISOString()}`;
          analysis.report(object, "FLD0008", `${subject} ${end}. ${remedy}`, path);
        } else if ("cause" in found && (part === "ca" || !isTold(object, path, namespace)))
          analysis.report(object, "FLD0009", `${subject} cannot be used: ${found.cause}. ${remedy}`, path);
      }
    }
  },
};

function usesOf(analysis: Analysis): readonly Use[] {
  const { objects } = analysis;
  const selected = podNamespaces(analysis);
  const gateways = objects.of(gateway).map((object) => ({ object, namespaces: selected(object.spec.selector ?? {}) }));
  const edges = [...new Set(gateways.flatMap(({ namespaces }) => namespaces))].sort();
  return [
    ...gateways.flatMap(({ object, namespaces }) =>
      ofGateway(object.spec).map((named): Use => ({ ...named, object, namespaces, isForSome: false })),
    ),
    ...objects.of(destinationRule).flatMap((object) => {
      const labels = object.spec.workloadSelector?.matchLabels;
      const own = labels && selected(labels).filter((namespace) => namespace === object.meta.namespace);
      // Without a selector it is for gateways only, as in Istio.
      return ofRule(object.spec).map((named): Use => ({ ...named, object, namespaces: own ?? edges, isForSome: !own }));
    }),
    ...[...objects.of(kubeGateway), ...objects.of(listenerSet)].flatMap((object) =>
      ofListeners(object.spec.listeners ?? [], object.meta.namespace).map(
        ({ namespace, ...named }): Use => ({ ...named, object, namespaces: [namespace], isForSome: false }),
      ),
    ),
  ];
}

/** Each selector is looked for once: a mesh has many Gateways and few ways to select their Pods. */
function podNamespaces({ objects }: Analysis): (selector: Readonly<Record<string, string>>) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (selector) => {
    const text = selectorText(selector);
    // All gateways, wherever they are: which Pods are such nobody says.
    if (text === "") return [];
    const found =
      known.get(text) ??
      [
        ...new Set(
          objects
            .kube("Pod")
            .filter(({ meta }) => matchesLabels(selector, meta.labels))
            .map(({ meta }) => meta.namespace),
        ),
      ].sort();
    known.set(text, found);
    return found;
  };
}

function ofGateway({ servers = [] }: GatewaySpec): readonly Named[] {
  return servers.flatMap(({ tls }, i) => (tls ? ofServer(tls, `spec.servers[${i}].tls`) : []));
}

function ofServer(tls: ServerTLSSettings, path: string): readonly Named[] {
  const { mode = "PASSTHROUGH", credentialName = "", credentialNames = [], caCertCredentialName = "" } = tls;
  if (mode !== "SIMPLE" && mode !== "MUTUAL" && mode !== "OPTIONAL_MUTUAL") return [];
  const several = credentialNames.map((credential, i): Named => {
    return { path: `${path}.credentialNames[${i}]`, credential, part: "keyPair" };
  });
  const single: Named = { path: `${path}.credentialName`, credential: credentialName, part: "keyPair" };
  const [first, ...more] = several.length > 0 ? several : credentialName === "" ? [] : [single];
  if (!first) return [];
  if (mode === "SIMPLE") return [first, ...more];
  const ca: Named =
    caCertCredentialName === ""
      ? { path: first.path, credential: first.credential + caSuffix, part: "ca" }
      : { path: `${path}.caCertCredentialName`, credential: caCertCredentialName, part: "ca" };
  return [first, ...more, ca];
}

function ofRule({ trafficPolicy, subsets = [] }: DestinationRuleSpec): readonly Named[] {
  return [
    ...ofPolicy(trafficPolicy, "spec.trafficPolicy"),
    ...subsets.flatMap((subset, i) => ofPolicy(subset.trafficPolicy, `spec.subsets[${i}].trafficPolicy`)),
  ];
}

function ofPolicy(policy: TrafficPolicy | undefined, path: string): readonly Named[] {
  if (!policy) return [];
  const ports = policy.portLevelSettings ?? [];
  return [
    ...ofClient(policy.tls, `${path}.tls`),
    ...ports.flatMap(({ tls }, i) => ofClient(tls, `${path}.portLevelSettings[${i}].tls`)),
  ];
}

function ofClient(tls: ClientTLSSettings | undefined, path: string): readonly Named[] {
  const { mode, credentialName = "", insecureSkipVerify } = tls ?? {};
  if (credentialName === "" || (mode !== "SIMPLE" && mode !== "MUTUAL")) return [];
  const named = { path: `${path}.credentialName` };
  const pair: Named = { ...named, credential: credentialName, part: "keyPair" };
  const ca: Named = { ...named, credential: credentialName + caSuffix, part: "ca" };
  return [...(mode === "MUTUAL" ? [pair] : []), ...(insecureSkipVerify ? [] : [ca])];
}

/** Of the Gateway API; who may not refer to a Secret is told by the listener's own condition. */
function ofListeners(
  listeners: readonly GatewayApiListener[],
  own: string,
): readonly (Named & { readonly namespace: string })[] {
  return listeners.flatMap(({ tls }, i) =>
    tls?.mode === "Passthrough"
      ? []
      : (tls?.certificateRefs ?? []).flatMap(({ name = "", namespace = own, kind = "Secret" }, j) => {
          const path = `spec.listeners[${i}].tls.certificateRefs[${j}]`;
          return kind === "Secret" ? [{ path, credential: name, part: "keyPair" as const, namespace }] : [];
        }),
  );
}

const caSuffix = "-cacert";
const withoutSuffix = (name: string): string => (name.endsWith(caSuffix) ? name.slice(0, -caSuffix.length) : name);

interface Place {
  readonly kind: "Secret" | "ConfigMap";
  /** Undefined: that of the proxy. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Undefined for what is kept elsewhere: the workload's own certificate, and what no name stands for. */
function placeOf(credential: string): Place | undefined {
  const bare = credential.replace(/^sds:\/\//, "");
  if (/^(builtin|invalid):\/\//.test(bare)) return undefined;
  const [, scheme = "kubernetes", namespace, name = bare] =
    /^(kubernetes|kubernetes-gateway|configmap):\/\/(?:([^/]+)\/)?([^/]+)$/.exec(bare) ?? [];
  return { kind: scheme === "configmap" ? "ConfigMap" : "Secret", namespace, name };
}

function judge({ objects, now }: Analysis): (use: Use, namespace: string) => Verdict {
  const [secrets, configMaps] = (["Secret", "ConfigMap"] as const).map(
    (kind) => new Map(objects.kube(kind).map(({ fullName, raw }) => [fullName, raw as KubeObject])),
  );
  const missing = (cause: string): Verdict => ({ state: "missing", cause });
  return ({ credential, part }, namespace) => {
    const place = placeOf(credential);
    if (!place) return { state: "good", until: now };
    const { kind, name, namespace: home = namespace } = place;
    if (kind === "ConfigMap") {
      const map = configMaps?.get(`${home}/${withoutSuffix(name)}`);
      const found = map && configMapCa(map);
      return found ? credentialState(found, now) : missing(`ConfigMap ${home}/${withoutSuffix(name)} has no CA`);
    }
    if (home !== namespace) return missing("a proxy is given Secrets of its own namespace only");
    const secret = (of: string): KubeObject | undefined => secrets?.get(`${home}/${of}`);
    if (part === "keyPair") {
      const pair = secret(name) && secretKeyPair(secret(name) ?? {});
      return pair ? credentialState(pair, now) : missing(`Secret ${home}/${name} has no certificate with its key`);
    }
    const holder = secret(name) ?? secret(withoutSuffix(name));
    const ca = holder && secretCa(holder);
    if (ca) return credentialState(ca, now);
    const beside = withoutSuffix(name) === name ? "" : `, nor has ${home}/${withoutSuffix(name)}`;
    return missing(`Secret ${home}/${name} has no CA${beside}`);
  };
}

/** What a look at an object's credentials depends on, for who cannot list everything. */
export interface CredentialReferences {
  /** Names of Secrets and ConfigMaps, in whatever namespace. */
  readonly names: readonly string[];
  /** Labels of the Pods that it is for. Undefined where it says none: it is for the Pods of all gateways. */
  readonly selector: Readonly<Record<string, string>> | undefined;
}

/** Of Istio's Gateways and DestinationRules; nothing of others. */
export function credentialReferences(raw: KubeObject): CredentialReferences {
  const { of } = finish(collectObjects({ files: [], cluster: [raw] }));
  const [edge, rule] = [of(gateway)[0]?.spec, of(destinationRule)[0]?.spec];
  const named = edge ? ofGateway(edge) : rule ? ofRule(rule) : [];
  const names = named.flatMap(({ credential }) => placeOf(credential)?.name ?? []);
  const selector = edge ? edge.selector : names.length > 0 ? rule?.workloadSelector?.matchLabels : undefined;
  const isEmpty = Object.keys(selector ?? {}).length === 0;
  return { names: names.flatMap((name) => [name, withoutSuffix(name)]), selector: isEmpty ? undefined : selector };
}
