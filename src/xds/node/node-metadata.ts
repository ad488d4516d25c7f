/**
 * A node's metadata in, the same with sizes and types checked out. A value of the wrong type is refused here, so that
 * nobody behind has to expect it (CVE-2022-23635 was `{"INSTANCE_IPS": 1}`).
 */
import { FairleadError, isRecord } from "../../lib/index.ts";

const maxTextLength = 256 * 1024;
/** Of what names something: maps that all proxies share are keyed by it, and are slow with text that is very long. */
const maxNameLength = 4096;
const maxValues = 8192;
const maxDepth = 16;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isName: Check = (value) => typeof value === "string" && value.length <= maxNameLength;
const isTextMap: Check = (value) => isRecord(value) && Object.values(value).every(isText);
/** Booleans travel as text, as Go's ParseBool reads it. */
const isTextBool: Check = (value) =>
  typeof value === "string" && /^(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(value);
const isPort: Check = (value) => typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 65_535;
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText);

const each = (check: Check, keys: string): [string, Check][] => keys.split(" ").map((key) => [key, check]);

/** Keys that Istio's agent sends, by the type that istiod decodes them to; other keys are free. */
const checks = new Map<string, Check>([
  ...each(isName, "INSTANCE_IPS NAMESPACE NODE_NAME WORKLOAD_NAME SERVICE_ACCOUNT MESH_ID CLUSTER_ID NETWORK"),
  ...each(
    isText,
    "ISTIO_VERSION ISTIO_REVISION INTERCEPTION_MODE HTTP_PROXY_PORT REQUESTED_NETWORK_VIEW POD_PORTS TLS_SERVER_CERT_CHAIN TLS_SERVER_KEY TLS_SERVER_ROOT_CERT TLS_CLIENT_CERT_CHAIN TLS_CLIENT_KEY TLS_CLIENT_ROOT_CERT BASE IDLE_TIMEOUT HTTP10 GENERATOR DNS_PROXY_ADDR AUTO_REGISTER_GROUP WORKLOAD_ENTRY UNPRIVILEGED_POD STS_PORT CLOUDRUN_ADDR NAME OWNER OUTLIER_LOG_PATH APP_CONTAINERS ISTIO_PROXY_SHA",
  ),
  ...each(isTextMap, "LABELS STATIC_LABELS ANNOTATIONS PLATFORM_METADATA"),
  ...each(
    isTextBool,
    "ENABLE_SELF_DISCOVERY DNS_CAPTURE DNS_AUTO_ALLOCATE ENABLE_HBONE DISABLE_HBONE_SEND EXIT_ON_ZERO_ACTIVE_CONNECTIONS INBOUND_LISTENER_EXACT_BALANCE OUTBOUND_LISTENER_EXACT_BALANCE METADATA_DISCOVERY ENVOY_SKIP_DEPRECATED_LOGS",
  ),
  ...each(isPort, "ENVOY_STATUS_PORT ENVOY_PROMETHEUS_PORT ENVOY_SECURE_METRICS_PORT ENVOY_SECURE_MERGED_METRICS_PORT"),
  ...each(isTextList, "PILOT_SAN"),
  ...each(isRecord, "PROXY_CONFIG"),
]);

export const typedKeys: readonly string[] = [...checks.keys()];

export function checkMetadata(metadata: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(metadata)) throw new FairleadError("invalid", "the node's metadata is not a struct");
  const copy = createCopier()(metadata, 0);
  if (!isRecord(copy)) throw new FairleadError("invalid", "the node's metadata is not a struct");
  for (const key in copy)
    if (copy[key] !== null && checks.get(key)?.(copy[key]) === false)
      throw new FairleadError("invalid", `the node's metadata has a wrong type, or a name that is too long, in ${key}`);
  return copy;
}

/**
 * Counts on the way, and copies into objects without prototype, so that a key such as `__proto__` is data. What has none
 * already is what `readNode` has made, and nobody else has it.
 */
function createCopier(): (value: unknown, depth: number) => unknown {
  let length = 0;
  let values = 0;
  const count = (text: string): void => {
    length += text.length;
    if (length > maxTextLength)
      throw new FairleadError("too-large", `the node's metadata has more than ${maxTextLength} characters`);
  };
  const copy = (value: unknown, depth: number): unknown => {
    values++;
    if (values > maxValues)
      throw new FairleadError("too-large", `the node's metadata has more than ${maxValues} values`);
    if (depth > maxDepth)
      throw new FairleadError("invalid", `the node's metadata is nested deeper than ${maxDepth} levels`);
    if (typeof value === "string") count(value);
    if (Array.isArray(value)) return value.map((one) => copy(one, depth + 1));
    if (!isRecord(value)) return value;
    const isOurs = Object.getPrototypeOf(value) === null;
    const out: Record<string, unknown> = isOurs ? value : Object.create(null);
    for (const key of Object.keys(value)) {
      count(key);
      out[key] = copy(value[key], depth + 1);
    }
    return out;
  };
  return copy;
}
