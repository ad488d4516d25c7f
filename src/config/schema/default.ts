/**
 * An object in, the same with the defaults of its schema filled in out. A default fills an absent field, never a set
 * one; a null that its field does not allow counts as absent.
 */
import { isRecord } from "../../lib/index.ts";
import type { Schema } from "../../model/index.ts";

export function applyDefaults(schema: Schema, value: unknown): unknown {
  if (schema.type === "array" && Array.isArray(value)) return value.map((item) => applyDefaults(schema.items, item));
  if (!isRecord(value)) return value;
  if (schema.type === "map")
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, item]) => item !== null || schema.values.nullable)
        .map(([key, item]) => [key, applyDefaults(schema.values, item)]),
    );
  if (schema.type !== "object") return value;
  const out = new Map(Object.entries(value));
  for (const [name, field] of Object.entries(schema.fields)) {
    const given = out.get(name);
    const absent = given === undefined || (given === null && !field.nullable);
    if (!absent) out.set(name, applyDefaults(field, given));
    else if (field.default === undefined) out.delete(name);
    else out.set(name, applyDefaults(field, structuredClone(field.default)));
  }
  return Object.fromEntries(out);
}
