/**
 * An object in, the same with the defaults of its schema filled in out. A default fills an absent field, never a set
 * one; a null that its field does not allow counts as absent. What lacks nothing is not made anew.
 */
import { isRecord } from "../../lib/index.ts";
import type { MapNode, ObjectNode, Schema } from "../../model/index.ts";
import { changedItems, type Fields, withField, withoutField } from "./changed.ts";

export function applyDefaults(schema: Schema, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (schema.type === "array" && Array.isArray(value))
    return changedItems(value, (item) => applyDefaults(schema.items, item));
  if (!isRecord(value)) return value;
  if (schema.type === "map") return defaultMap(schema, value);
  return schema.type === "object" ? defaultObject(schema, value) : value;
}

function defaultMap({ values }: MapNode, value: Fields): Fields {
  let out = value;
  for (const name of Object.keys(value)) {
    const item = value[name];
    out =
      item === null && !values.nullable
        ? withoutField(value, out, name)
        : withField(value, out, name, applyDefaults(values, item));
  }
  return out;
}

function defaultObject({ fields }: ObjectNode, value: Fields): Fields {
  let out = value;
  for (const name in fields) {
    const field = fields[name];
    if (!field) continue;
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    const absent = given === undefined || (given === null && !field.nullable);
    if (!absent) out = withField(value, out, name, applyDefaults(field, given));
    else if (field.default === undefined) out = withoutField(value, out, name);
    else out = withField(value, out, name, applyDefaults(field, structuredClone(field.default)));
  }
  return out;
}
