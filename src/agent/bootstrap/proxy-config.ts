/** Where a proxy's settings come from: mesh file, environment and annotations in, one ProxyConfig out, and its form on the wire. */
import { FairleadError, isRecord, parseYaml } from "../../lib/index.ts";
import { defaultProxyConfig, mergeProxyConfig, type ProxyConfigValues } from "../../model/index.ts";
import type { Json, JsonObject } from "./json.ts";

export interface ProxyConfigSources {
  /** The text of ./etc/istio/config/mesh, as gateways mount it. */
  readonly meshFile?: string | undefined;
  /** PROXY_CONFIG, as the injector sets it. */
  readonly env?: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** ISTIO_CPU_LIMIT: as many threads as the container may use. */
  readonly cpuLimit?: number;
  readonly concurrency?: number;
}

/** Later sources replace fields of earlier ones: defaults, mesh file, environment, annotation. */
export function loadProxyConfig(sources: ProxyConfigSources): ProxyConfigValues {
  const mesh = readDocument(sources.meshFile, "the mesh config file");
  const fromMesh = isRecord(mesh.defaultConfig) ? mesh.defaultConfig : {};
  const annotation = sources.annotations["proxy.istio.io/config"];
  const layers = [
    fromMesh,
    readDocument(sources.env, "PROXY_CONFIG"),
    readDocument(annotation, "annotation proxy.istio.io/config"),
  ];
  // Unknown fields are passed through, as istiod reads them from the node and may know them.
  const merged = layers.reduce<ProxyConfigValues>(
    (base, layer) => mergeProxyConfig(layer as ProxyConfigValues, base),
    defaultProxyConfig,
  );
  const limit = sources.concurrency || (merged.concurrency ?? sources.cpuLimit) || undefined;
  const port = Number(sources.annotations["status.sidecar.istio.io/port"]);
  const address = sources.annotations["sidecar.istio.io/discoveryAddress"];
  return {
    ...merged,
    ...(limit === undefined ? {} : { concurrency: limit }),
    ...(address === undefined ? {} : { discoveryAddress: address }),
    ...(Number.isInteger(port) ? { statusPort: port } : {}),
  };
}

function readDocument(text: string | undefined, name: string): Readonly<Record<string, unknown>> {
  if (text === undefined || text.trim() === "") return {};
  const [first = {}] = parseYaml(text);
  if (!isRecord(first)) throw new FairleadError("invalid", `${name} is not an object`);
  return first;
}

/** Enum values that are protobuf's zero, and so are not written. */
const zeroEnums: Readonly<Record<string, string>> = {
  controlPlaneAuthPolicy: "NONE",
  interceptionMode: "REDIRECT",
  mode: "DISABLE",
};
/** Numbers in wrapper messages: written also where they are zero. */
const wrapped: ReadonlySet<string> = new Set(["concurrency", "fileFlushMinSizeKb"]);

/** protobuf's JSON of the settings: fields at their zero value are left out. */
export function proxyConfigJson(config: ProxyConfigValues): JsonObject {
  const { connectionSettings, proxyHeaders, ...rest } = config;
  const kept = withoutZeros(rest);
  const all: Record<string, unknown> = { ...kept, connectionSettings, proxyHeaders };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JsonObject;
}

function withoutZeros(fields: object): JsonObject {
  const out: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields))
    if (!isZero(name, value)) out[name] = isRecord(value) && !isMap(name) ? withoutZeros(value) : value;
  return out;
}

/** Fields whose keys are the user's; an empty text in them is an entry like others. */
const isMap = (name: string): boolean => name === "proxyMetadata" || name === "runtimeValues";

function isZero(name: string, value: unknown): boolean {
  if (value === undefined || value === null || value === "" || (typeof value === "string" && zeroEnums[name] === value))
    return true;
  if (value === 0) return !wrapped.has(name);
  if (Array.isArray(value)) return value.length === 0;
  return isMap(name) && isRecord(value) && Object.keys(value).length === 0;
}
