/** An object in, the same without the fields that its schema does not know out, and the paths of those. */
import { isRecord } from "../../lib/index.ts";
import type { Schema } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";

export interface Pruned {
  readonly value: unknown;
  readonly unknown: readonly string[];
}

export function prune(schema: Schema, value: unknown, path: string): Pruned {
  const unknown: string[] = [];
  return { value: walk(schema, value, path, unknown), unknown };
}

function walk(schema: Schema, value: unknown, path: string, unknown: string[]): unknown {
  if (schema.type === "array" && Array.isArray(value))
    return value.map((item, i) => walk(schema.items, item, itemPath(path, i), unknown));
  if (!isRecord(value)) return value;
  if (schema.type === "map")
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, walk(schema.values, item, fieldPath(path, key), unknown)]),
    );
  if (schema.type === "object")
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) => {
        const at = fieldPath(path, key);
        if (Object.hasOwn(schema.fields, key)) return [[key, walk(field(schema.fields, key), item, at, unknown)]];
        if (schema.preserveUnknown) return [[key, item]];
        unknown.push(at);
        return [];
      }),
    );
  // Where no object is expected, the type check speaks; but strict decoding also names what is inside.
  if (schema.type === "any") return value;
  for (const key of Object.keys(value)) unknown.push(fieldPath(path, key));
  return value;
}

const nothing: Schema = { type: "any", object: false };

const field = (fields: Readonly<Record<string, Schema>>, key: string): Schema => fields[key] ?? nothing;
