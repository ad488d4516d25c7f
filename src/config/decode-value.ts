/**
 * A schema and parsed JSON in, the typed value out. Protobuf JSON as istiod reads it: snake_case or camelCase names,
 * enums by name or number, numbers as text, null as absent, first fault ends it. Unknown fields are reported, not kept.
 * Keys of maps and structs are put in order: as written they have no meaning, two specs that differ in it alone are equal
 * to the graph, and whoever goes through them is to see the same for both.
 */
import { inKeyOrder, isRecord, sortBy } from "../lib/index.ts";
import type { IntegerNode, ObjectNode, Schema, StringNode } from "../model/index.ts";
import { cannotUnmarshal, durationError, notANumber } from "./json-error.ts";
import { fieldPath, itemPath } from "./problem.ts";

export interface UnknownField {
  readonly path: string;
  readonly message: string;
}

export type DecodedValue = {
  /** Fields that the schema does not know, in the order in which a strict reader would meet them. */
  readonly unknown: readonly UnknownField[];
} & ({ readonly value: unknown } | { readonly fault: { readonly path: string; readonly message: string } });

interface Walk {
  readonly unknown: UnknownField[];
}

/** Ends the walk at the first fault; never leaves this file. */
class Fault extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export function decodeValue(schema: Schema, raw: unknown, path: string): DecodedValue {
  const walk: Walk = { unknown: [] };
  try {
    return { value: decode(schema, raw, path, walk), unknown: walk.unknown };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: { path: error.path, message: error.message }, unknown: walk.unknown };
  }
}

function decode(schema: Schema, raw: unknown, path: string, walk: Walk): unknown {
  switch (schema.type) {
    case "object":
      return decodeObject(schema, raw, path, walk);
    case "array":
      if (!Array.isArray(raw)) throw new Fault(path, cannotUnmarshal(raw, "[]json.RawMessage"));
      return raw.map((item, i) =>
        item === null ? zero(schema.items) : decode(schema.items, item, itemPath(path, i), walk),
      );
    case "map":
      return decodeMap(schema, raw, path, walk);
    case "string":
      return decodeString(schema, raw, path);
    case "integer":
      return decodeNumber(raw, path, integerType(schema));
    case "number":
      return decodeNumber(raw, path, "float64");
    case "boolean":
      if (typeof raw !== "boolean") throw new Fault(path, cannotUnmarshal(raw, "bool"));
      return raw;
    case "int-or-string":
      return raw;
    case "any":
      if (schema.object && !isRecord(raw))
        throw new Fault(path, `bad StructValue: ${cannotUnmarshal(raw, "map[string]json.RawMessage")}`);
      return inKeyOrder(raw);
  }
}

/** A null in a list is protobuf's zero value. */
function zero(schema: Schema): unknown {
  switch (schema.type) {
    case "object":
    case "map":
      return {};
    case "array":
      return [];
    case "string":
      return schema.enum?.[0] ?? "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    default:
      return null;
  }
}

/** What decoding needs of an object's schema, worked out once. */
interface Fields {
  readonly names: readonly string[];
  readonly schemas: readonly Schema[];
  readonly places: ReadonlyMap<string, number>;
  /** Of a protobuf oneof, by place: the others of which the last that is set remains. */
  readonly rivals: readonly (readonly string[])[];
}

const fieldsBySchema = new WeakMap<ObjectNode, Fields>();

function fieldsOf(schema: ObjectNode): Fields {
  const known = fieldsBySchema.get(schema);
  if (known) return known;
  const names = Object.keys(schema.fields);
  const fields: Fields = {
    names,
    schemas: Object.values(schema.fields),
    places: new Map(names.map((name, i) => [name, i])),
    rivals: names.map((name) =>
      (schema.oneOf?.find((group) => group.includes(name)) ?? []).filter((other) => other !== name),
    ),
  };
  fieldsBySchema.set(schema, fields);
  return fields;
}

function decodeObject(schema: ObjectNode, raw: unknown, path: string, walk: Walk): unknown {
  if (!isRecord(raw)) throw new Fault(path, cannotUnmarshal(raw, "map[string]json.RawMessage"));
  const { names, schemas, places, rivals } = fieldsOf(schema);
  const given = new Map<number, unknown>();
  const strangers: string[] = [];
  for (const key of Object.keys(raw)) {
    const place = placeOf(places, key);
    if (place === undefined) strangers.push(key);
    else if (!given.has(place) || key === names[place]) given.set(place, raw[key]);
  }
  const out: Record<string, unknown> = {};
  for (const place of [...given.keys()].sort((a, b) => a - b)) {
    const [value, name, field] = [given.get(place), names[place], schemas[place]];
    if (value === undefined || value === null || name === undefined || field === undefined) continue;
    out[name] = decode(field, value, fieldPath(path, name), walk);
    for (const other of rivals[place] ?? []) delete out[other];
  }
  for (const key of strangers) {
    if (schema.preserveUnknown) continue;
    walk.unknown.push({
      path: fieldPath(path, key),
      message: `unknown field ${JSON.stringify(key)}${schema.proto ? ` in ${schema.proto}` : ""}`,
    });
  }
  return out;
}

/** Of the field that a key of the JSON means: protobuf accepts both spellings. */
function placeOf(places: Fields["places"], key: string): number | undefined {
  if (!key.includes("_")) return places.get(key);
  const camel = key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return places.get(camel) ?? places.get(key);
}

function decodeMap(schema: Schema & { type: "map" }, raw: unknown, path: string, walk: Walk): unknown {
  if (!isRecord(raw)) throw new Fault(path, cannotUnmarshal(raw, "map[string]json.RawMessage"));
  const entries = Object.entries(raw).map(([key, value]) => {
    const at = itemPath(path, key);
    if (schema.keys) decodeNumber(key, at, "uint32");
    return [key, value === null ? zero(schema.values) : decode(schema.values, value, at, walk)] as const;
  });
  return Object.fromEntries(sortBy(entries, ([key]) => key));
}

function decodeString(schema: StringNode, raw: unknown, path: string): unknown {
  if (schema.meaning === "enum") return decodeEnum(schema, raw, path);
  if (typeof raw !== "string") throw new Fault(path, cannotUnmarshal(raw, "string"));
  const wrong = schema.meaning === "duration" ? durationError(raw) : undefined;
  if (wrong) throw new Fault(path, `bad Duration: ${wrong}`);
  return raw;
}

function decodeEnum(schema: StringNode, raw: unknown, path: string): unknown {
  const names = schema.enum ?? [];
  if (typeof raw === "number" && schema.proto) {
    const at = schema.numbers ? schema.numbers.indexOf(raw) : raw;
    return names[at] ?? names[0];
  }
  if (typeof raw !== "string")
    throw new Fault(path, cannotUnmarshal(raw, schema.proto ? "protoreflect.EnumNumber" : "string"));
  // Gateway API enums are open strings to a reader; only protobuf refuses an unknown name.
  if (!names.includes(raw) && schema.proto)
    throw new Fault(path, `unknown value ${JSON.stringify(JSON.stringify(raw))} for enum ${schema.proto}`);
  return raw;
}

const integerType = (schema: IntegerNode): string => schema.meaning ?? schema.format ?? "int64";

/** The first number that is too large, because the last that is not has no exact double for 64 bits. */
const limits: ReadonlyMap<string, readonly [number, number]> = new Map([
  ["int32", [-(2 ** 31), 2 ** 31]],
  ["uint32", [0, 2 ** 32]],
  ["int64", [-(2 ** 63), 2 ** 63]],
  ["uint64", [0, 2 ** 64]],
]);

function decodeNumber(raw: unknown, path: string, type: string): number {
  const value = typeof raw === "string" ? parseNumber(raw, path) : raw;
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Fault(path, cannotUnmarshal(raw, type));
  const range = limits.get(type);
  if (range && (!Number.isInteger(value) || value < range[0] || value >= range[1]))
    throw new Fault(path, cannotUnmarshal(value, type));
  return value;
}

function parseNumber(text: string, path: string): number {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new Fault(path, notANumber(text));
  return Number(text);
}
