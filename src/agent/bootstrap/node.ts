/** The agent's environment, labels and annotations in, the node that Envoy introduces itself as out. */
import { FairleadError, isRecord, type Logger, parseJson, readTextMap } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";
import { defined, type Json, type JsonObject } from "./json.ts";
import { proxyConfigJson } from "./proxy-config.ts";

export interface NodeOptions {
  /** `sidecar~IP~NAME.NAMESPACE~DOMAIN` */
  readonly id: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly addresses: readonly string[];
  readonly proxyConfig: ProxyConfigValues;
  /** Of the Pod, from the downward API; undefined where there is no such file. */
  readonly podLabels?: Readonly<Record<string, string>> | undefined;
  readonly podAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly controlPlaneNames: readonly string[];
  readonly outlierLogPath: string;
  readonly statusPort: number;
  readonly prometheusPort: number;
  readonly secureMetricsPort: number;
  readonly secureMergedMetricsPort: number;
  readonly identitySocketFile: string;
  readonly istioVersion: string;
  readonly exitOnZeroActiveConnections: boolean;
  readonly skipDeprecatedLogs: boolean;
  /** Undefined follows ENABLE_HBONE. */
  readonly metadataDiscovery: boolean | undefined;
  /** The agent counts requests for an Envoy that cannot itself. */
  readonly countsRequests?: boolean;
  readonly log: Logger;
}

export interface Node {
  readonly id: string;
  readonly metadata: JsonObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly locality: { readonly region: string; readonly zone: string; readonly subZone: string };
}

const metaPrefix = "ISTIO_META_";
const metaJsonPrefix = "ISTIO_METAJSON_";
/** Booleans that travel as text; any spelling Go knows is made "true". */
const booleanKeys = ["DNS_CAPTURE", "DNS_AUTO_ALLOCATE", "ENABLE_HBONE", "DISABLE_HBONE_SEND", "ENABLE_SELF_DISCOVERY"];
const exactBalanceKeys = ["INBOUND_LISTENER_EXACT_BALANCE", "OUTBOUND_LISTENER_EXACT_BALANCE"];
const localityLabel = "istio-locality";

export function buildNode(options: NodeOptions): Node {
  const { env } = options;
  const raw = readEnvironment(options);
  const staticLabels = staticLabelsOf(env, options.log);
  const podLabels =
    options.podLabels &&
    Object.fromEntries(Object.entries(options.podLabels).filter(([key]) => key !== "pod-template-hash"));
  const found = podLabels ? { ...staticLabels, ...podLabels } : staticLabels;
  const locality = sanitizeLocality(found["topology.istio.io/locality"] ?? found[localityLabel] ?? "");
  const sanitized = locality === "" ? {} : { [localityLabel]: locality };
  const labels = { ...found, ...sanitized };
  const annotations = { ...options.podAnnotations };
  const discovery = options.metadataDiscovery ?? raw.ENABLE_HBONE === "true";
  const metadata: JsonObject = {
    ...raw,
    ...defined({
      NAME: env.POD_NAME,
      NAMESPACE: env.POD_NAMESPACE,
      SERVICE_ACCOUNT: env.SERVICE_ACCOUNT,
      ISTIO_VERSION: raw.ISTIO_VERSION ?? options.istioVersion,
      INSTANCE_IPS: [...new Set(options.addresses)].join(","),
      PILOT_SAN: options.controlPlaneNames.length > 0 ? options.controlPlaneNames : undefined,
      OUTLIER_LOG_PATH: options.outlierLogPath === "" ? undefined : options.outlierLogPath,
      ENVOY_STATUS_PORT: options.statusPort,
      ENVOY_PROMETHEUS_PORT: options.prometheusPort,
      ENVOY_SECURE_METRICS_PORT: options.secureMetricsPort || undefined,
      ENVOY_SECURE_MERGED_METRICS_PORT: options.secureMergedMetricsPort || undefined,
      EXIT_ON_ZERO_ACTIVE_CONNECTIONS: options.exitOnZeroActiveConnections ? "true" : undefined,
      ENVOY_SKIP_DEPRECATED_LOGS: options.skipDeprecatedLogs ? "true" : undefined,
      METADATA_DISCOVERY: String(discovery),
      WORKLOAD_IDENTITY_SOCKET_FILE: options.identitySocketFile,
      PROXY_CONFIG: proxyConfigJson(options.proxyConfig),
      LABELS: nonEmpty(labels),
      // Where the labels are the static ones themselves, both are told with the same locality.
      STATIC_LABELS: nonEmpty(podLabels ? staticLabels : labels),
      ANNOTATIONS: nonEmpty(annotations),
      FAIRLEAD_TELEMETRY: options.countsRequests ? "true" : undefined,
    }),
  };
  const [region = "", zone = "", subZone = ""] = locality.split("/");
  return { id: options.id, metadata, labels, annotations, locality: { region, zone, subZone } };
}

/** ISTIO_META_X becomes X, the members of ISTIO_METAJSON_X become metadata themselves; proxyMetadata gives way to the environment. */
function readEnvironment({ env, proxyConfig, log }: NodeOptions): Readonly<Record<string, Json>> {
  const raw: Record<string, Json> = {};
  const given = (
    source: Readonly<Record<string, string | undefined>>,
    prefix: string,
  ): readonly (readonly [string, string])[] =>
    Object.entries(source).flatMap(([key, value]) =>
      key.startsWith(prefix) && value !== undefined ? [[key.slice(prefix.length), value]] : [],
    );
  for (const [key, value] of given(proxyConfig.proxyMetadata ?? {}, metaPrefix)) raw[key] = value;
  for (const [key, value] of given(env, metaPrefix)) raw[key] = value;
  for (const [key, value] of given(env, metaJsonPrefix))
    Object.assign(raw, jsonMembers(`${metaJsonPrefix}${key}`, value, log));
  const dnsProxy = env.DNS_PROXY_ADDR;
  if (dnsProxy !== undefined && dnsProxy !== "") raw.DNS_PROXY_ADDR = dnsProxy;
  for (const key of [...booleanKeys, ...exactBalanceKeys]) if (isTrue(key, raw[key])) raw[key] = "true";
  return raw;
}

function jsonMembers(name: string, text: string, log: Logger): Record<string, Json> {
  try {
    const value = parseJson(text);
    if (isRecord(value)) return { ...value } as Record<string, Json>;
  } catch {
    // Told below: a value of another kind is as unusable as one that is no JSON.
  }
  log.warn("an environment variable is no JSON object and is left out", { name });
  return {};
}

function isTrue(key: string, value: Json | undefined): boolean {
  if (value === undefined) return false;
  if (typeof value === "string" && ["1", "t", "T", "true", "TRUE", "True"].includes(value)) return true;
  if (typeof value === "string" && ["0", "f", "F", "false", "FALSE", "False"].includes(value)) return false;
  throw new FairleadError("invalid", `${metaPrefix}${key} is neither true nor false`, {
    hint: `set ${metaPrefix}${key} to true or false`,
  });
}

function staticLabelsOf(env: NodeOptions["env"], log: Logger): Readonly<Record<string, string>> {
  const text = env.ISTIO_METAJSON_LABELS;
  return text === undefined ? {} : readTextMap(jsonMembers("ISTIO_METAJSON_LABELS", text, log));
}

/** Kubernetes labels cannot hold a slash, so dots stand for slashes where there is none. */
function sanitizeLocality(label: string): string {
  return label.includes("/") ? label : label.replaceAll(".", "/");
}

function nonEmpty(map: Readonly<Record<string, string>>): JsonObject | undefined {
  return Object.keys(map).length > 0 ? map : undefined;
}

/** The downward API's `key="quoted value"` lines; a line that is none is passed over, and of two with one key the last counts. */
export function parseDownwardApi(text: string): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    const at = line.indexOf("=");
    const value = at < 0 ? undefined : unquote(line.slice(at + 1));
    if (value !== undefined) found.set(line.slice(0, at), value);
  }
  return Object.fromEntries(found);
}

const escapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};
const maxCodePoint = 0x10ffff;

/** Text in the quotes of Go's %q; undefined where it is not that. */
function unquote(text: string): string | undefined {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return undefined;
  let isBroken = false;
  const value = text
    .slice(1, -1)
    .replace(/"|\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))/gs, (_, ...codes) => {
      const [x, u, U, simple]: readonly (string | undefined)[] = codes;
      const code = Number.parseInt(x ?? u ?? U ?? "", 16);
      if (code <= maxCodePoint) return String.fromCodePoint(code);
      const known = escapes[simple ?? ""];
      isBroken ||= known === undefined;
      return known ?? "";
    });
  return isBroken ? undefined : value;
}
