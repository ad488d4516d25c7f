/** A schema and a value in, the same for CEL out: whole numbers as integers, objects as maps with CEL's field names. */
import type { CelInput } from "@bufbuild/cel";
import { isRecord } from "../../lib/index.ts";
import type { Schema } from "../../model/index.ts";

/** CEL's reserved words; as field names Kubernetes wraps them in underscores. */
const reserved: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

function fieldName(name: string): string {
  if (reserved.has(name)) return `__${name}__`;
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}

export function toCel(schema: Schema, value: unknown): CelInput {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return schema.type === "number" || !Number.isInteger(value) ? value : BigInt(value);
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value !== "object") return null;
  const made = known.get(value);
  if (made?.schema === schema) return made.cel;
  const cel = Array.isArray(value)
    ? value.map((item) => toCel(schema.type === "array" ? schema.items : anything, item))
    : isRecord(value)
      ? toCelMap(schema, value)
      : null;
  known.set(value, { schema, cel });
  return cel;
}

/** A value is asked for once for each of its rules, and again as a part of those around it. */
const known = new WeakMap<object, { readonly schema: Schema; readonly cel: CelInput }>();

const anything: Schema = { type: "any", object: false };

/** A value that no schema describes. */
export const celValue = (value: unknown): CelInput => toCel(anything, value);

function toCelMap(schema: Schema, value: Readonly<Record<string, unknown>>): CelInput {
  const entries = Object.entries(value);
  if (schema.type === "map") return new Map(entries.map(([key, item]) => [key, toCel(schema.values, item)]));
  if (schema.type !== "object") return new Map(entries.map(([key, item]) => [key, toCel(anything, item)]));
  // A null field counts as absent: `has()` is false for it.
  return new Map(
    entries.flatMap(([key, item]): [string, CelInput][] =>
      item === null || !Object.hasOwn(schema.fields, key)
        ? []
        : [[fieldName(key), toCel(schema.fields[key] ?? anything, item)]],
    ),
  );
}
