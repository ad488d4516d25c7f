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

export function readMessage(
  registry: Registry,
  schema: DescMessage,
  value: unknown,
): { readonly message: Message } | { readonly error: string } {
  try {
    return { message: fromJson(schema, canonical(registry, schema, value, ""), { registry }) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Canonical JSON of the message: what is left for the library to refuse is values of the wrong type. */
function canonical(registry: Registry, schema: DescMessage, value: unknown, path: string): JsonValue {
  if (value === null) return null;
  switch (schema.typeName) {
    case "google.protobuf.Duration":
      return canonicalDuration(value, path);
    case "google.protobuf.Any":
      return canonicalAny(registry, value, path);
    default:
      if (schema.typeName.startsWith("google.protobuf.")) return value as JsonValue;
  }
  if (!isRecord(value)) throw new Error(`${path || "the value"}: an object is expected`);
  return canonicalFields(registry, schema, value, path);
}

function canonicalFields(
  registry: Registry,
  schema: DescMessage,
  value: Readonly<Record<string, unknown>>,
  path: string,
): JsonObject {
  const out: JsonObject = {};
  const chosen = new Map<string, string>();
  for (const field of schema.fields) {
    const written = [field.jsonName, field.name].find((name) => Object.hasOwn(value, name));
    if (written === undefined || value[written] === null) continue;
    // Of the members of a oneof the last one counts.
    const before = field.oneof && chosen.get(field.oneof.name);
    if (before !== undefined) delete out[before];
    if (field.oneof) chosen.set(field.oneof.name, field.jsonName);
    out[field.jsonName] = canonicalField(registry, field, value[written], path === "" ? written : `${path}.${written}`);
  }
  return out;
}

function canonicalField(registry: Registry, field: DescField, value: unknown, path: string): JsonValue {
  switch (field.fieldKind) {
    case "message":
      return canonical(registry, field.message, value, path);
    case "enum":
      return canonicalEnum(field.enum, value, path);
    case "list":
      if (!Array.isArray(value)) throw new Error(`${path}: a list is expected`);
      return value.map((item, i) => canonicalItem(registry, field, item, `${path}[${i}]`));
    case "map":
      if (!isRecord(value)) throw new Error(`${path}: an object is expected`);
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, canonicalItem(registry, field, item, `${path}.${key}`)]),
      );
    case "scalar":
      return value as JsonValue;
  }
}

function canonicalItem(
  registry: Registry,
  field: DescField & { readonly fieldKind: "list" | "map" },
  value: unknown,
  path: string,
): JsonValue {
  if (field.message) return canonical(registry, field.message, value, path);
  return field.enum ? canonicalEnum(field.enum, value, path) : (value as JsonValue);
}

function canonicalEnum(
  type: { readonly typeName: string; readonly values: readonly { readonly name: string }[] },
  value: unknown,
  path: string,
): JsonValue {
  if (typeof value === "string" && !type.values.some(({ name }) => name === value))
    throw new Error(`${path}: ${value} is not a value of ${type.typeName}`);
  return value as JsonValue;
}

function canonicalDuration(value: unknown, path: string): JsonValue {
  const nanos = typeof value === "string" ? parseDuration(value) : undefined;
  if (nanos === undefined) throw new Error(`${path}: ${JSON.stringify(value)} is not a duration`);
  const size = nanos < 0n ? -nanos : nanos;
  const parts = durationParts(size);
  return `${nanos < 0n ? "-" : ""}${parts.seconds}.${String(parts.nanos).padStart(9, "0")}s`;
}

function canonicalAny(registry: Registry, value: unknown, path: string): JsonValue {
  const url = isRecord(value) ? value["@type"] : undefined;
  if (!isRecord(value) || typeof url !== "string") throw new Error(`${path}: an object with @type is expected`);
  const schema = registry.getMessage(url.slice(url.lastIndexOf("/") + 1));
  if (!schema) throw new Error(`${path}: the type ${url} is not known`);
  if (schema.typeName.startsWith("google.protobuf.")) {
    if (!Object.hasOwn(value, "value")) throw new Error(`${path}: an object with value is expected`);
    return { "@type": url, value: canonical(registry, schema, value.value, `${path}.value`) };
  }
  const { "@type": _, ...fields } = value;
  return { "@type": url, ...canonicalFields(registry, schema, fields, path) };
}
