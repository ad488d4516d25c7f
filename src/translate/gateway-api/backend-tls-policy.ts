/** BackendTLSPolicies in; DestinationRules with the TLS settings of their backends, and what is wrong with them, out. */
import type { Collection, Graph } from "../../collections/index.ts";
import { readList, readNumber, readRecord, readText, sortBy } from "../../lib/index.ts";
import {
  type BackendTLSPolicySpec,
  type BackendTLSPolicyTargetRef,
  type ClientTLSSettings,
  type Config,
  compareAge,
  configMapCa,
  type DestinationRuleSpec,
} from "../../model/index.ts";
import { type BackendTlsVerdict, notFound } from "./backend-tls-status.ts";
import { type GatewayApiInputs, generatedName, istioGroup } from "./inputs.ts";
import { type Problem, problem } from "./problem.ts";

type Policy = Config<BackendTLSPolicySpec>;

/** One policy's settings for one host of one target. */
interface TargetPolicy {
  readonly target: string;
  readonly host: string;
  /** 0: all ports. */
  readonly port: number;
  readonly tls: ClientTLSSettings;
  readonly policy: Policy;
}

export interface TranslatedBackendTls {
  readonly destinationRules: Collection<Config<DestinationRuleSpec>>;
  readonly verdicts: Collection<PolicyVerdict>;
}

/** What became of a policy; which Gateways lead to its targets is not known here. */
export interface PolicyVerdict extends Omit<BackendTlsVerdict, "gateways"> {
  readonly policy: Policy;
}

export function translateBackendTls(graph: Graph, inputs: GatewayApiInputs): TranslatedBackendTls {
  const policies = inputs.configs.backendTlsPolicies;
  const byTarget = graph.index(policies, "target", ({ spec, meta }) =>
    (spec.targetRefs ?? []).map((ref) => targetKey(meta.namespace, ref)),
  );
  /** An older policy for the same target. */
  const winner = (policy: Policy, ref: BackendTLSPolicyTargetRef): Policy | undefined =>
    byTarget
      .get(targetKey(policy.meta.namespace, ref))
      .flatMap((id) => policies.get(id) ?? [])
      .find((other) => compareAge(other.meta, policy.meta) < 0 && hasTarget(other, ref));
  const targeted = graph.derive<Policy, TargetPolicy>("backend TLS", policies, (policy, key) => {
    const tls = tlsOf(inputs, policy);
    return (policy.spec.targetRefs ?? []).flatMap((ref, i) => {
      if (winner(policy, ref)) return [];
      return targetHosts(inputs, policy.meta.namespace, ref).map(
        ({ host, port }) =>
          [`${key}/${i}/${host}`, { target: targetKey(policy.meta.namespace, ref), host, port, tls, policy }] as const,
      );
    });
  });
  const byHost = graph.index(targeted, "host", ({ target, host }) => [`${target}|${host}`]);
  return {
    destinationRules: graph.derive("backend TLS rules", byHost.groups, (keys) => {
      const rule = ruleOf([...keys].flatMap((key) => targeted.get(key) ?? []));
      return rule ? [[`${rule.meta.namespace}/${rule.meta.name}`, rule] as const] : [];
    }),
    verdicts: graph.derive<Policy, PolicyVerdict>("backend TLS verdicts", policies, (policy, key) => {
      const targets = (policy.spec.targetRefs ?? []).map((ref) => ({
        ref,
        problem: targetProblem(inputs, policy, ref, winner(policy, ref)),
      }));
      return [[key, { policy, targets, ca: caProblem(inputs, policy) }]];
    }),
  };
}

function targetProblem(
  inputs: GatewayApiInputs,
  { meta }: Policy,
  ref: BackendTLSPolicyTargetRef,
  winner: Policy | undefined,
): Problem | undefined {
  const { group = "", kind = "", name = "", sectionName } = ref;
  const place = `${meta.namespace}/${name}`;
  const isService = group === "" && kind === "Service";
  if (!isService && !(group === istioGroup && kind === "ServiceEntry")) return notFound(`unsupported kind ${kind}`);
  const exists = isService ? inputs.services.get(place) : inputs.serviceEntries.get(place);
  if (!exists) return notFound(`reference ${place} (of kind ${kind}) not found`);
  if (targetHosts(inputs, meta.namespace, ref).length === 0)
    return notFound(`sectionName "${sectionName ?? ""}" does not exist in ${kind} ${place}`);
  if (!winner) return undefined;
  const other = `${winner.meta.namespace}/${winner.meta.name}`;
  return problem("Conflicted", `Conflicts with BackendTLSPolicy "${other}" targeting the same backend`);
}

function caProblem({ configMaps }: GatewayApiInputs, { spec, meta }: Policy): BackendTlsVerdict["ca"] {
  const { caCertificateRefs = [], wellKnownCACertificates } = spec.validation ?? {};
  const [ref] = caCertificateRefs;
  if (wellKnownCACertificates !== undefined || !ref) return undefined;
  const [kind, place] = [`${ref.group ?? ""}/${ref.kind ?? ""}`, `${meta.namespace}/${ref.name ?? ""}`];
  const wrong = (reason: string, how: string, why: string): BackendTlsVerdict["ca"] => ({
    resolved: problem(reason, `Certificate ${how}: ${why}`),
    accepted: problem("NoValidCACertificate", `Certificate reference invalid: ${why}`),
  });
  if (kind !== "/ConfigMap")
    return wrong("InvalidKind", "reference not supported", `unsupported kind ${ref.kind ?? ""}`);
  const map = configMaps.get(place);
  if (!map)
    return wrong("InvalidCACertificateRef", "reference not found", `reference ${place} (of kind ConfigMap) not found`);
  return configMapCa(map) ? undefined : wrong("InvalidCACertificateRef", "invalid", "no certificate in key ca.crt");
}

const targetKey = (namespace: string, { group = "", kind = "", name = "" }: BackendTLSPolicyTargetRef): string =>
  `${group}/${kind}/${namespace}/${name}`;

const hasTarget = ({ spec }: Policy, ref: BackendTLSPolicyTargetRef): boolean =>
  (spec.targetRefs ?? []).some(
    (other) =>
      other.group === ref.group &&
      other.kind === ref.kind &&
      other.name === ref.name &&
      other.sectionName === ref.sectionName,
  );

function tlsOf(inputs: GatewayApiInputs, { spec, meta }: Policy): ClientTLSSettings {
  const { hostname, subjectAltNames = [], caCertificateRefs = [], wellKnownCACertificates } = spec.validation ?? {};
  const names = subjectAltNames.flatMap(({ type, hostname: host, uri }) =>
    type === "Hostname" ? (host ?? []) : type === "URI" ? (uri ?? []) : [],
  );
  const [ref] = wellKnownCACertificates === undefined ? caCertificateRefs : [];
  return {
    mode: "SIMPLE",
    ...(hostname === undefined ? {} : { sni: hostname }),
    ...(names.length > 0 ? { subjectAltNames: names } : {}),
    ...(ref
      ? { credentialName: caCredential(inputs, meta.namespace, `${ref.group ?? ""}/${ref.kind ?? ""}`, ref.name ?? "") }
      : {}),
  };
}

/** A reference that leads nowhere must not let traffic through unverified: it becomes a certificate that never comes. */
function caCredential({ configMaps }: GatewayApiInputs, namespace: string, kind: string, name: string): string {
  const map = kind === "/ConfigMap" ? configMaps.get(`${namespace}/${name}`) : undefined;
  return map && configMapCa(map) ? `configmap://${namespace}/${name}` : "invalid://";
}

/** None where the target, or the port that it names, does not exist. */
function targetHosts(
  inputs: GatewayApiInputs,
  namespace: string,
  ref: BackendTLSPolicyTargetRef,
): readonly { readonly host: string; readonly port: number }[] {
  const { group = "", kind, name = "", sectionName } = ref;
  const portOf = (ports: readonly { readonly name: string; readonly number: number }[]): number | undefined =>
    sectionName ? ports.find((port) => port.name === sectionName)?.number : 0;
  if (group === "" && kind === "Service") {
    const service = inputs.services.get(`${namespace}/${name}`);
    const ports = readList(readRecord(service?.spec).ports).map(readRecord);
    const port = portOf(ports.map((entry) => ({ name: readText(entry.name), number: readNumber(entry.port) ?? 0 })));
    return service && port !== undefined ? [{ host: `${name}.${namespace}.svc.${inputs.domain}`, port }] : [];
  }
  const entry =
    group === istioGroup && kind === "ServiceEntry" ? inputs.serviceEntries.get(`${namespace}/${name}`) : undefined;
  const port = portOf(
    (entry?.spec.ports ?? []).map(({ name: portName = "", number = 0 }) => ({ name: portName, number })),
  );
  return port === undefined ? [] : (entry?.spec.hosts ?? []).map((host) => ({ host, port }));
}

function ruleOf(policies: readonly TargetPolicy[]): Config<DestinationRuleSpec> | undefined {
  const sorted = sortBy(
    policies,
    ({ policy }) => policy.meta.creationTimestamp ?? "",
    ({ policy }) => policy.meta.namespace,
    ({ policy }) => policy.meta.name,
  );
  const [first] = sorted;
  if (!first) return undefined;
  const whole = sorted.find(({ port }) => port === 0)?.tls;
  const ports = new Map<number, ClientTLSSettings>();
  for (const { port, tls } of sorted) if (port !== 0 && !ports.has(port)) ports.set(port, tls);
  const portLevelSettings = [...ports].sort(([a], [b]) => a - b).map(([number, tls]) => ({ port: { number }, tls }));
  const [, kind, namespace = "", name = ""] = first.target.split("/");
  const parents = [
    ...new Set(sorted.map(({ policy }) => `BackendTLSPolicy/${policy.meta.namespace}.${policy.meta.name}`)),
  ];
  return {
    kind: "DestinationRule",
    meta: {
      name:
        kind === "ServiceEntry"
          ? `${name}~${first.host.replaceAll(".", "-")}~${generatedName}`
          : `${name}~${generatedName}`,
      namespace,
      annotations: { "internal.istio.io/parents": parents.join(",") },
    },
    spec: {
      host: first.host,
      trafficPolicy: {
        ...(whole ? { tls: whole } : {}),
        ...(portLevelSettings.length > 0 ? { portLevelSettings } : {}),
      },
    },
  };
}
