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

export interface CelValues {
  of(schema: Schema, value: unknown): CelInput;
}

/**
 * For the rules of one object: a value is asked for once for each of them, and again as a part of those around it. What was
 * made is known by no more than this: a WeakMap of all values would have to be worked off at one stretch whenever garbage is
 * collected.
 */
export function createCelValues(): CelValues {
  const known = new Map<object, { readonly schema: Schema; readonly cel: CelInput }>();
  const of = (schema: Schema, value: unknown): CelInput => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number") return schema.type === "number" || !Number.isInteger(value) ? value : BigInt(value);
    if (typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value !== "object") return null;
    const made = known.get(value);
    if (made?.schema === schema) return made.cel;
    const cel = Array.isArray(value)
      ? value.map((item) => of(schema.type === "array" ? schema.items : anything, item))
      : isRecord(value)
        ? toCelMap(of, schema, value)
        : null;
    known.set(value, { schema, cel });
    return cel;
  };
  return { of };
}

const anything: Schema = { type: "any", object: false };

/** A value that no schema describes. */
export const celValue = (value: unknown): CelInput => createCelValues().of(anything, value);

function toCelMap(of: CelValues["of"], schema: Schema, value: Readonly<Record<string, unknown>>): CelInput {
  const entries = Object.entries(value);
  if (schema.type === "map") return new Map(entries.map(([key, item]) => [key, of(schema.values, item)]));
  if (schema.type !== "object") return new Map(entries.map(([key, item]) => [key, of(anything, item)]));
  // A null field counts as absent: `has()` is false for it.
  return new Map(
    entries.flatMap(([key, item]): [string, CelInput][] =>
      item === null || !Object.hasOwn(schema.fields, key)
        ? []
        : [[fieldName(key), of(schema.fields[key] ?? anything, item)]],
    ),
  );
}
