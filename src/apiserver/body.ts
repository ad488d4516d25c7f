/** A body's bytes in, plain data out: at most so many bytes, so deep, JSON or YAML. */
import { FairleadError, isRecord, type ParseLimits, parseWithRepeated, parseYaml } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Definitions } from "./definitions.ts";
import { failure } from "./failure.ts";
import { noneRepeated, type RepeatedFields } from "./field-validation.ts";
import { type ApiKind, apiVersionOf } from "./kind.ts";
import { checkLimits, maxBodyBytes, maxOwned, objectLimits } from "./limits.ts";
import { isProtobuf, parseProtobuf } from "./protobuf-body.ts";

/** YAML is read so much more slowly than JSON that a longer text would keep everybody else waiting. */
const maxYamlBytes = 768 * 1024;
/** An object that is sent back as it was read has managedFields, which are counted apart (`limits.ts`). */
const parseLimits: ParseLimits = {
  ...objectLimits,
  maxBytes: maxBodyBytes,
  maxValues: objectLimits.maxValues + 2 * maxOwned,
};

export interface Body {
  readonly value: unknown;
  /** Of two fields of one name the last one is the value. */
  readonly repeated: RepeatedFields;
}

/** `kind` is the one that the URL names. Pauses where others may be let in. */
export function* parseBody(
  definitions: Definitions,
  kind: ApiKind,
  bytes: Buffer,
  contentType: string,
): Generator<void, Body> {
  const plain = (value: unknown): Body => ({ value, repeated: noneRepeated });
  if (isProtobuf(contentType)) return plain(parseProtobuf(definitions, kind, bytes));
  const text = bytes.toString();
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (text.trim() === "") return plain(undefined);
  try {
    if (type === "application/json" || type === "" || type.endsWith("+json")) return yield* parseJsonBody(text, type);
    if (type === "application/yaml" || type.endsWith("+yaml")) return yield* parseYamlBody(text);
  } catch (error) {
    const { code, message } = FairleadError.from(error);
    throw failure(
      code === "too-large" ? "RequestEntityTooLarge" : "BadRequest",
      `the object provided is unrecognized: ${message}`,
    );
  }
  throw failure(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml`,
  );
}

function* parseJsonBody(text: string, type: string): Generator<void, Body> {
  const { value, repeated } = yield* parseWithRepeated(text, parseLimits);
  const prefix = type === "application/json-patch+json" ? "json patch " : "";
  const sentences = repeated.map(({ path }) => `${prefix}duplicate field ${quoted(path)}`);
  return { value, repeated: { form: "json", sentences } };
}

/** What a hundred sentences repeat of a body is to stay small. */
const maxQuoted = 1000;

const quoted = (name: string): string =>
  JSON.stringify(name.length > maxQuoted ? `${name.slice(0, maxQuoted)}…` : name);

/** JSON is YAML: kubectl sends it under that name, also where it is long. */
function* parseYamlBody(text: string): Generator<void, Body> {
  const sentences: string[] = [];
  const tell = (key: string, line: number): void => {
    sentences.push(`line ${line}: key ${quoted(key)} already set in map`);
  };
  const repeated: RepeatedFields = { form: "yaml", sentences };
  if (text.trimStart().startsWith("{"))
    try {
      const { value, repeated: keys } = yield* parseWithRepeated(text, parseLimits);
      for (const { key, line } of keys) tell(key, line);
      return { value, repeated };
    } catch {
      // Flow style, with keys without quotes: told apart below.
    }
  return { value: parseYaml(text, { ...parseLimits, maxBytes: maxYamlBytes }, tell)[0], repeated };
}

/** The body as an object of the kind that the URL names. */
export function asKind(body: unknown, kind: ApiKind): KubeObject {
  checkLimits(body);
  if (!isRecord(body)) throw failure("BadRequest", "the object provided is unrecognized (must be of type Object)");
  const { apiVersion, kind: name } = body;
  if (name !== undefined && name !== kind.kind)
    throw failure(
      "BadRequest",
      `${String(name)} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind.kind}: the URL names ${kind.plural}`,
    );
  if (apiVersion !== undefined && apiVersion !== apiVersionOf(kind))
    throw failure(
      "BadRequest",
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${apiVersionOf(kind)})`,
    );
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  const named = metadata.name;
  if (named !== undefined && named !== null && typeof named !== "string")
    throw failure(
      "BadRequest",
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: metadata.name is not a string`,
    );
  return {
    ...body,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...metadata, name: typeof named === "string" ? named : "" },
  };
}
