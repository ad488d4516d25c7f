/** An object of the API in, a typed config out, as leniently as istiod reads it; or the reason why it cannot be read. */
import { FairleadError, isRecord, type ParseLimits, parseYaml } from "../lib/index.ts";
import {
  type Config,
  type Kind,
  type MeshConfigSpec,
  type MeshNetworksSpec,
  meshConfigSpec,
  meshNetworksSpec,
  type ObjectMeta,
  type ObjectNode,
  objectName,
  type ProxyConfigValues,
  proxyConfigValues,
  type SpecOf,
} from "../model/index.ts";
import { decodeSpec } from "./decode-spec.ts";
import { type DecodedValue, decodeValue } from "./decode-value.ts";
import type { Problem } from "./problem.ts";

/** `ok` is absent where the object cannot be decoded: the last problem says why. All others are warnings. */
export interface Decoded<T> {
  readonly ok?: T;
  readonly problems: readonly Problem[];
}

export function decode<K extends Kind>(kind: K, raw: unknown): Decoded<Config<SpecOf<K>>> {
  const meta = readMeta(kind, raw);
  if (!meta || !isRecord(raw))
    return { problems: [{ object: kind.kind, path: "metadata.name", message: "an object needs a name" }] };
  const object = objectName(kind.kind, meta);
  const spec = withProblems<SpecOf<K>>(decodeSpec(kind, raw), object);
  return spec.ok === undefined
    ? { problems: spec.problems }
    : { ok: { kind: kind.kind, meta, spec: spec.ok }, problems: spec.problems };
}

/** Whoever may write ConfigMap `istio` must not hold up all others with it; a thousand providers are half of this. */
const meshLimits: ParseLimits = { maxBytes: 256 * 1024, maxDepth: 100 };

/** MeshConfig as it stands in ConfigMap `istio`; an empty text is an empty config. */
export function decodeMeshConfig(yaml: string): Decoded<MeshConfigSpec> {
  return decodeText<MeshConfigSpec>(meshConfigSpec, yaml, "MeshConfig", meshLimits);
}

/** Any Pod brings its own, and each is read while others wait. */
const proxyConfigLimits: ParseLimits = { maxBytes: 64 * 1024, maxDepth: 100 };

/** The settings of one proxy, as its agent sends them or its annotation has them. */
export function decodeProxyConfig(yaml: string): Decoded<ProxyConfigValues> {
  return decodeText<ProxyConfigValues>(proxyConfigValues, yaml, "ProxyConfig", proxyConfigLimits);
}

export function decodeMeshNetworks(yaml: string): Decoded<MeshNetworksSpec> {
  return decodeText<MeshNetworksSpec>(meshNetworksSpec, yaml, "MeshNetworks", meshLimits);
}

function decodeText<T>(schema: ObjectNode, yaml: string, object: string, limits: ParseLimits): Decoded<T> {
  try {
    const [document = {}] = parseYaml(yaml, limits);
    return withProblems<T>(decodeValue(schema, document, ""), object);
  } catch (error) {
    return { problems: [{ object, path: "", message: FairleadError.from(error).message }] };
  }
}

function withProblems<T>(result: DecodedValue, object: string): Decoded<T> {
  const problems = result.unknown.map((field) => ({
    object,
    ...field,
    hint: "the field is ignored; check its spelling",
  }));
  if ("fault" in result) return { problems: [...problems, { object, ...result.fault }] };
  // The value has the shape that the schema describes, which is what T was inferred from.
  return { ok: result.value as T, problems };
}

/** Undefined for anything without a name. A namespaced object without one is in `default`, as kubectl has it. */
function readMeta(kind: Kind, raw: unknown): Config<unknown>["meta"] | undefined {
  if (!isRecord(raw) || !isRecord(raw.metadata) || typeof raw.metadata.name !== "string") return undefined;
  const { name, namespace, labels, annotations, ...rest } = raw.metadata;
  const fallback = kind.scope === "Namespaced" ? "default" : "";
  return {
    // Whatever else stands here came from an API server, or is not read.
    ...(rest as Omit<ObjectMeta, "name" | "namespace">),
    name,
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : fallback,
    ...(isRecord(labels) ? { labels: textsOf(labels) } : {}),
    ...(isRecord(annotations) ? { annotations: textsOf(annotations) } : {}),
  };
}

function textsOf(map: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
