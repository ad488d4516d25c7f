/**
 * JSON as users write it in a patch in; the message it stands for, or why it is none, out. Reads as istiod does: names in
 * either spelling, unknown fields left out, durations in Go's units too, numbers also as text.
 */
import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import { durationParts, isRecord, parseDuration } from "../../lib/index.ts";

export type ReadMessage =
  /** `leftOut`: paths of the strangers. */
  | { readonly message: Message; readonly strangers: readonly Stranger[]; readonly leftOut: readonly string[] }
  /** `unknown`: a type or value has a name that is not known, which a newer Envoy may have. */
  | { readonly error: string; readonly unknown: boolean };

const unknownName = "unknown name";

/** A field that the known types do not have; those further in come first. */
export interface Stranger {
  readonly path: string;
  readonly name: string;
  /** The message that should have it. */
  readonly type: string;
  /** Type URLs of the Anys around it, the outermost first. */
  readonly within: readonly string[];
}

export function readMessage(registry: Registry, schema: DescMessage, value: unknown): ReadMessage {
  const reader: Reader = { registry, strangers: [], within: [] };
  try {
    const message = fromJson(schema, canonical(reader, schema, value, ""), { registry });
    return { message, strangers: reader.strangers, leftOut: reader.strangers.map(({ path }) => path) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    // What was written there may be nobody else's business.
    const unknown = error instanceof Error && error.cause === unknownName;
    return { error: said.replace(/ from JSON: .*$/s, " from what is written"), unknown };
  }
}

interface Reader {
  readonly registry: Registry;
  readonly strangers: Stranger[];
  readonly within: readonly string[];
}

/** Canonical JSON of the message: what is left for the library to refuse is values of the wrong type. */
function canonical(reader: Reader, schema: DescMessage, value: unknown, path: string): JsonValue {
  if (value === null) return null;
  switch (schema.typeName) {
    case "google.protobuf.Duration":
      return canonicalDuration(value, path);
    case "google.protobuf.Any":
      return canonicalAny(reader, value, path);
    default:
      if (schema.typeName.startsWith("google.protobuf.")) return value as JsonValue;
  }
  if (!isRecord(value)) throw new Error(`${path || "the value"}: an object is expected`);
  return canonicalFields(reader, schema, value, path);
}

function canonicalFields(
  reader: Reader,
  schema: DescMessage,
  value: Readonly<Record<string, unknown>>,
  path: string,
): JsonObject {
  const below = (name: string): string => (path === "" ? name : `${path}.${name}`);
  const { fields, strangers } = writtenFields(schema, value);
  const out: JsonObject = {};
  const chosen = new Map<string, string>();
  for (const { field, name } of fields) {
    if (value[name] === null) continue;
    // Of the members of a oneof the last one counts.
    const before = field.oneof && chosen.get(field.oneof.name);
    if (before !== undefined) delete out[before];
    if (field.oneof) chosen.set(field.oneof.name, field.jsonName);
    out[field.jsonName] = canonicalField(reader, field, value[name], below(name));
  }
  for (const name of strangers)
    reader.strangers.push({ path: below(name), name, type: schema.typeName, within: reader.within });
  return out;
}

interface Place {
  readonly field: DescField;
  readonly index: number;
}

interface Written {
  readonly field: DescField;
  /** In the spelling that is there; of both the JSON name counts. */
  readonly name: string;
}

/** Fields by either spelling: a Cluster has sixty, of which a patch has one or two. */
const placesBySchema = new WeakMap<DescMessage, ReadonlyMap<string, Place>>();

function placesOf(schema: DescMessage): ReadonlyMap<string, Place> {
  const known = placesBySchema.get(schema);
  if (known) return known;
  const places = new Map(
    schema.fields.flatMap((field, index) => [field.name, field.jsonName].map((name) => [name, { field, index }])),
  );
  placesBySchema.set(schema, places);
  return places;
}

/** Those of the schema in its order. */
function writtenFields(
  schema: DescMessage,
  value: Readonly<Record<string, unknown>>,
): { readonly fields: readonly Written[]; readonly strangers: readonly string[] } {
  const places = placesOf(schema);
  const found = new Map<number, Written>();
  const strangers: string[] = [];
  for (const name of Object.keys(value)) {
    const place = places.get(name);
    if (!place) strangers.push(name);
    else if (!found.has(place.index) || name === place.field.jsonName)
      found.set(place.index, { field: place.field, name });
  }
  const fields = [...found].sort(([a], [b]) => a - b).map(([, written]) => written);
  return { fields, strangers };
}

function canonicalField(reader: Reader, field: DescField, value: unknown, path: string): JsonValue {
  switch (field.fieldKind) {
    case "message":
      return canonical(reader, field.message, value, path);
    case "enum":
      return canonicalEnum(field.enum, value, path);
    case "list":
      if (!Array.isArray(value)) throw new Error(`${path}: a list is expected`);
      return value.map((item, i) => canonicalItem(reader, field, item, `${path}[${i}]`));
    case "map":
      if (!isRecord(value)) throw new Error(`${path}: an object is expected`);
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, canonicalItem(reader, field, item, `${path}.${key}`)]),
      );
    case "scalar":
      return value as JsonValue;
  }
}

function canonicalItem(
  reader: Reader,
  field: DescField & { readonly fieldKind: "list" | "map" },
  value: unknown,
  path: string,
): JsonValue {
  if (field.message) return canonical(reader, field.message, value, path);
  return field.enum ? canonicalEnum(field.enum, value, path) : (value as JsonValue);
}

function canonicalEnum(
  type: { readonly typeName: string; readonly values: readonly { readonly name: string }[] },
  value: unknown,
  path: string,
): JsonValue {
  if (typeof value === "string" && !type.values.some(({ name }) => name === value))
    throw new Error(`${path}: ${value} is not a value of ${type.typeName}`, { cause: unknownName });
  return value as JsonValue;
}

function canonicalDuration(value: unknown, path: string): JsonValue {
  const nanos = typeof value === "string" ? parseDuration(value) : undefined;
  if (nanos === undefined) throw new Error(`${path}: ${JSON.stringify(value)} is not a duration`);
  const size = nanos < 0n ? -nanos : nanos;
  const parts = durationParts(size);
  return `${nanos < 0n ? "-" : ""}${parts.seconds}.${String(parts.nanos).padStart(9, "0")}s`;
}

function canonicalAny(reader: Reader, value: unknown, path: string): JsonValue {
  const url = isRecord(value) ? value["@type"] : undefined;
  if (!isRecord(value) || typeof url !== "string") throw new Error(`${path}: an object with @type is expected`);
  const schema = reader.registry.getMessage(url.slice(url.lastIndexOf("/") + 1));
  if (!schema) throw new Error(`${path}: the type ${url} is not known`, { cause: unknownName });
  if (schema.typeName.startsWith("google.protobuf.")) {
    if (!Object.hasOwn(value, "value")) throw new Error(`${path}: an object with value is expected`);
    return { "@type": url, value: canonical(reader, schema, value.value, `${path}.value`) };
  }
  const { "@type": _, ...fields } = value;
  const inside = { ...reader, within: [...reader.within, url] };
  return { "@type": url, ...canonicalFields(inside, schema, fields, path) };
}
