/** A workload's labels, a namespace or a service in; which policies hold there, and which object and field said so, out. */
import type { Mesh } from "../../mesh/index.ts";
import {
  type AuthorizationPolicySpec,
  type Config,
  canonicalRevision,
  type DestinationRuleSpec,
  type Endpoint,
  matchesLabels,
  type Service,
  type TelemetrySpec,
  type TrafficPolicy,
} from "../../model/index.ts";
import type { Effect, Version } from "../../read-api/index.ts";

type Labels = Readonly<Record<string, string>>;

/** In the order in which a request meets them. Without labels: what holds for all of a namespace. */
export function policiesOf(mesh: Mesh, namespace: string, labels: Labels): readonly Effect[] {
  const { selection } = mesh;
  const sidecar = selection.sidecar(namespace, labels);
  return [
    mutualTls(mesh, namespace, labels),
    ...selection.requestAuthentications(namespace, labels).map((key) => ({
      ...{ about: "authentication", object: `RequestAuthentication/${key}` },
      says: `tokens of ${count(mesh.requestAuthentication(key)?.spec.jwtRules?.length, "issuer")} are checked`,
      field: "spec.jwtRules",
    })),
    ...selection.authorizationPolicies(namespace, labels).map((key) => ({
      ...{ about: "authorization", object: `AuthorizationPolicy/${key}` },
      says: authorizes(mesh.authorizationPolicy(key)),
      field: "spec",
    })),
    sidecar === ""
      ? { about: "reach", says: "sees every service that is exported to its namespace" }
      : {
          ...{ about: "reach", object: `Sidecar/${sidecar}`, field: "spec.egress" },
          says: "sees only the hosts that are listed",
        },
    ...selection.telemetries(namespace, labels).map((key) => ({
      ...{ about: "telemetry", object: `Telemetry/${key}`, field: "spec" },
      says: telemetrySays(mesh.telemetry(key)),
    })),
    ...selection.extensions(namespace, labels).map((object) => ({ about: "extension", says: "runs in it", object })),
    ...selection.envoyFilters(namespace, labels).map((key) => ({
      ...{ about: "patch", object: `EnvoyFilter/${key}`, field: "spec.configPatches" },
      says: count(mesh.envoyFilter(key)?.spec.configPatches?.length, "patch", "patches"),
    })),
  ];
}

/** The narrowest that says something decides. */
function mutualTls(mesh: Mesh, namespace: string, labels: Labels): Effect {
  const { mode, ports, policies } = mesh.peerAuthentication(namespace, labels);
  const decides = policies.findLast(({ spec }) => (spec.mtls?.mode ?? "UNSET") !== "UNSET");
  const others = [...ports].map(([port, other]) => `, ${other} on port ${port}`).join("");
  const says = `${mode}${others}`;
  const from = decides ?? (ports.size > 0 ? policies.at(-1) : undefined);
  if (!from) return { about: "mutual TLS", says: `${says}, as where nothing is said` };
  const { meta } = from;
  return {
    ...{ about: "mutual TLS", says, object: `PeerAuthentication/${meta.namespace}/${meta.name}` },
    field: decides ? "spec.mtls.mode" : "spec.portLevelMtls",
  };
}

function authorizes(policy: Config<AuthorizationPolicySpec> | undefined): string {
  const { action = "ALLOW", rules = [] } = policy?.spec ?? {};
  if (action === "ALLOW" && rules.length === 0) return "ALLOW, no rule: denies all";
  return `${action}, ${count(rules.length, "rule")}`;
}

function telemetrySays(telemetry: Config<TelemetrySpec> | undefined): string {
  const { tracing, metrics, accessLogging } = telemetry?.spec ?? {};
  const named = [tracing && "tracing", metrics && "metrics", accessLogging && "access logs"].filter(Boolean);
  return named.length === 0 ? "says nothing" : `says how ${named.join(", ")} are made`;
}

const count = (many = 0, one: string, more = `${one}s`): string => `${many} ${many === 1 ? one : more}`;

interface Rule {
  readonly spec: DestinationRuleSpec;
  /** `namespace/name` of each that it was merged from. */
  readonly from: readonly string[];
}

/** As clients in its own namespace see it. */
export const ruleOf = (mesh: Mesh, service: Service): Rule | undefined =>
  mesh.gatewayScope(service.namespace).destinationRule(service.key, undefined);

/** How clients connect. */
export function clientPolicies(rule: Rule | undefined): readonly Effect[] {
  const [key] = rule?.from ?? [];
  if (!rule || key === undefined) return [];
  const object = `DestinationRule/${key}`;
  return trafficSettings(rule.spec.trafficPolicy).map(([field, says]) => ({
    ...{ about: "clients", object, says, field: `spec.trafficPolicy.${field}` },
  }));
}

/** What of a traffic policy people look for, in words. */
function trafficSettings(policy: TrafficPolicy | undefined): readonly (readonly [field: string, says: string])[] {
  const { loadBalancer, connectionPool, outlierDetection, tls, portLevelSettings = [] } = policy ?? {};
  const errors = outlierDetection?.consecutive5xxErrors ?? outlierDetection?.consecutiveGatewayErrors;
  const pool = [
    connectionPool?.tcp?.maxConnections && `${connectionPool.tcp.maxConnections} connections`,
    connectionPool?.http?.http1MaxPendingRequests && `${connectionPool.http.http1MaxPendingRequests} waiting requests`,
    connectionPool?.http?.http2MaxRequests && `${connectionPool.http.http2MaxRequests} requests`,
  ].filter(Boolean);
  return [
    ...(tls ? [["tls", `TLS ${tls.mode ?? "DISABLE"}`] as const] : []),
    ...(loadBalancer ? [["loadBalancer", `balances ${loadBalancer.simple ?? "in its own way"}`] as const] : []),
    ...(connectionPool ? [["connectionPool", `at most ${pool.join(", ") || "what is set"}`] as const] : []),
    ...(outlierDetection
      ? [["outlierDetection", `endpoints are left out after ${errors ?? 5} errors in a row`] as const]
      : []),
    ...(portLevelSettings.length > 0
      ? [["portLevelSettings", `${count(portLevelSettings.length, "port")} of their own`] as const]
      : []),
  ];
}

/** Subsets where a rule has some, else what the endpoints' labels say. */
export function versionsOf(rule: Rule | undefined, endpoints: readonly Endpoint[]): readonly Version[] {
  const subsets = rule?.spec.subsets ?? [];
  const [key = ""] = rule?.from ?? [];
  if (subsets.length === 0) {
    const groups = Map.groupBy(endpoints, ({ labels }) => canonicalRevision(labels));
    return [...groups].map(([name, those]) => version(name, those)).sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  return subsets.map(({ name = "", labels = {} }, i) => ({
    ...version(
      name,
      endpoints.filter((one) => matchesLabels(labels, one.labels)),
    ),
    object: `DestinationRule/${key}`,
    field: `spec.subsets[${i}]`,
  }));
}

const isHealthy = ({ health }: Endpoint): boolean => health === "healthy" || health === "unknown";

/** A workload has an endpoint for each port; the first counts. */
function version(name: string, endpoints: readonly Endpoint[]): Version {
  const once = [...new Map(endpoints.map((one) => [one.addresses[0] ?? "", one])).values()];
  return { name, endpoints: once.length, healthy: once.filter(isHealthy).length };
}
