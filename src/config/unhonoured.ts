/**
 * A spec in; the fields in it that nothing here acts on, and why, out. The table is the one truth about that: the
 * reference `docs/reference/coverage.md` is made from it, `analyze` and statuses warn by it.
 */
import { isRecord } from "../lib/index.ts";
import type { ObjectNode, Schema } from "../model/index.ts";

export type UnhonouredReason = "istio" | "ambient" | "clusters" | "open";

/** What a user is told, after "… is not honoured: ". */
export const unhonouredReasons: Readonly<Record<UnhonouredReason, string>> = {
  istio: "Istio does not act on it either",
  ambient: "it is for ambient mode, which is not there yet",
  clusters: "several clusters or networks are not served yet",
  open: "not done yet",
};

const networking = "istio.networking.v1alpha3";
const mesh = "istio.mesh.v1alpha1";
const providers = `${mesh}.MeshConfig.ExtensionProvider`;

/** By protobuf message and field, so that it holds wherever the message is used. */
const fields: ReadonlyMap<string, UnhonouredReason> = new Map<string, UnhonouredReason>([
  [`${networking}.HTTPFaultInjection.Delay.exponentialDelay`, "istio"],
  [`${networking}.HTTPFaultInjection.Abort.http2Error`, "istio"],
  [`${networking}.L4MatchAttributes.sourceSubnet`, "istio"],
  [`${networking}.LoadBalancerSettings.backendUtilization`, "istio"],
  [`${networking}.OutlierDetection.consecutiveErrors`, "istio"],
  [`${networking}.Server.defaultEndpoint`, "istio"],
  [`${networking}.Port.targetPort`, "istio"],
  [`${networking}.SidecarPort.targetPort`, "istio"],
  [`${networking}.ServerTLSSettings.TLSCertificate.caCertificates`, "istio"],
  // Istio has it behind ENABLE_TLS_ON_SIDECAR_INGRESS, which is off by default.
  [`${networking}.IstioIngressListener.tls`, "open"],
  [`${networking}.EnvoyFilter.ListenerMatch.portName`, "istio"],
  [`${networking}.EnvoyFilter.Patch.filterClass`, "istio"],
  [`${networking}.EnvoyFilter.EnvoyConfigObjectMatch.waypoint`, "ambient"],
  ["istio.extensions.v1alpha1.WasmConfig.verificationKey", "istio"],
  ["istio.extensions.v1alpha1.WasmPlugin.verificationKey", "istio"],
  ["istio.security.v1beta1.JWTRule.presence", "istio"],
  [`${mesh}.MeshConfig.hboneIdleTimeout`, "ambient"],
  [`${mesh}.MeshConfig.configSources`, "open"],
  [`${mesh}.MeshConfig.certificates`, "istio"],
  [`${mesh}.MeshConfig.serviceScopeConfigs`, "ambient"],
  [`${mesh}.MeshConfig.verifyCertificateAtClient`, "istio"],
  [`${mesh}.MeshConfig.ca`, "open"],
  [`${providers}.lightstep`, "istio"],
  [`${providers}.stackdriver`, "open"],
  [`${providers}.opencensus`, "istio"],
  [`${providers}.EnvoyExternalAuthorizationHttpProvider.clearRouteCache`, "istio"],
  [`${providers}.EnvoyExternalAuthorizationGrpcProvider.clearRouteCache`, "istio"],
  [`${providers}.SkyWalkingTracingProvider.accessToken`, "istio"],
  [`${providers}.SDSProvider.name`, "istio"],
  [`${providers}.HttpHeader.envName`, "open"],
  [`${mesh}.ProxyConfig.discoveryRefreshDelay`, "istio"],
  [`${mesh}.ProxyConfig.zipkinAddress`, "istio"],
  [`${mesh}.ProxyConfig.envoyMetricsServiceAddress`, "istio"],
  [`${mesh}.ProxyConfig.availabilityZone`, "istio"],
  [`${mesh}.ProxyConfig.statNameLength`, "istio"],
  [`${mesh}.ProxyConfig.sds`, "istio"],
  [`${mesh}.ProxyConfig.proxyBootstrapTemplatePath`, "open"],
  // The mesh's name comes from the installation's values; this one only travels along.
  [`${mesh}.ProxyConfig.meshId`, "istio"],
  [`${mesh}.ProxyConfig.caCertificatesPem`, "open"],
  [`${mesh}.ProxyConfig.privateKeyProvider`, "open"],
  [`${mesh}.ProxyConfig.ConnectionSettings.clusterPerConnectionBufferLimitBytes`, "istio"],
  [`${mesh}.ProxyConfig.ConnectionSettings.listenerConnectionLimit`, "istio"],
  [`${mesh}.Tracing.stackdriver`, "istio"],
  [`${mesh}.Tracing.openCensusAgent`, "istio"],
  [`${mesh}.MeshNetworks.networks`, "clusters"],
]);

/** Single values of fields that otherwise are honoured. */
const values: ReadonlyMap<string, UnhonouredReason> = new Map<string, UnhonouredReason>([
  [`${networking}.EnvoyFilter.EnvoyConfigObjectPatch.applyTo=BOOTSTRAP`, "open"],
  [`${networking}.EnvoyFilter.EnvoyConfigObjectMatch.context=WAYPOINT`, "ambient"],
]);

/** `message.field` of all that is not honoured, for a test that looks whether they exist. */
export const unhonouredNames: readonly string[] = [...fields.keys(), ...values.keys()].map(
  (key) => key.split("=")[0] ?? key,
);

export interface UnhonouredField {
  /** `spec.http[0].fault.abort.http2Error`, with `=VALUE` where only that value is meant. */
  readonly path: string;
  readonly reason: UnhonouredReason;
}

/** Why a field is not honoured; undefined where it is. */
export function unhonouredReason(node: ObjectNode, field: string): UnhonouredReason | undefined {
  return fields.get(`${node.proto}.${field}`);
}

export function unhonouredValues(node: ObjectNode, field: string): ReadonlyMap<string, UnhonouredReason> {
  const prefix = `${node.proto}.${field}=`;
  return new Map(
    [...values].flatMap(([key, reason]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), reason] as const] : [],
    ),
  );
}

/** Those that are used; what is written but empty or off asks for nothing. */
export function unhonouredFields(schema: Schema, value: unknown, path: string): readonly UnhonouredField[] {
  const found: UnhonouredField[] = [];
  collect(schema, value, path, found);
  return found;
}

function collect(schema: Schema, value: unknown, path: string, found: UnhonouredField[]): void {
  if (!concerns(schema)) return;
  if (schema.type === "array") {
    for (const [i, item] of (Array.isArray(value) ? value : []).entries())
      collect(schema.items, item, `${path}[${i}]`, found);
  } else if (schema.type === "map") {
    for (const [key, item] of Object.entries(isRecord(value) ? value : {}))
      collect(schema.values, item, `${path}.${key}`, found);
  } else if (schema.type === "object" && isRecord(value)) collectFields(schema, value, path, found);
}

function collectFields(
  schema: ObjectNode,
  value: Readonly<Record<string, unknown>>,
  path: string,
  found: UnhonouredField[],
): void {
  for (const [name, item] of Object.entries(value)) {
    const child = schema.fields[name];
    if (!child || isNothing(item)) continue;
    const at = path === "" ? name : `${path}.${name}`;
    const reason = unhonouredReason(schema, name);
    const wrong = values.get(`${schema.proto}.${name}=${String(item)}`);
    if (reason) found.push({ path: at, reason });
    else if (wrong) found.push({ path: `${at}=${String(item)}`, reason: wrong });
    else collect(child, item, at, found);
  }
}

/** Most of a spec has nothing to do with the table, and a mesh has thousands of specs: those parts are not walked. */
const concerned = new WeakMap<Schema, boolean>();

function concerns(schema: Schema): boolean {
  const known = concerned.get(schema);
  if (known !== undefined) return known;
  const inner = schema.type === "array" ? schema.items : schema.type === "map" ? schema.values : undefined;
  const own =
    schema.type === "object" &&
    Object.entries(schema.fields).some(
      ([name, child]) =>
        unhonouredReason(schema, name) !== undefined || unhonouredValues(schema, name).size > 0 || concerns(child),
    );
  const result = own || (inner !== undefined && concerns(inner));
  concerned.set(schema, result);
  return result;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
