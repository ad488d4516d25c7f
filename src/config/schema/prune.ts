/**
 * An object in, the same without the fields that its schema does not know out, and the paths of those. What has nothing to be
 * dropped is not made anew.
 */
import { isRecord } from "../../lib/index.ts";
import type { MapNode, ObjectNode, Schema } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";
import { changedItems, type Fields, withField, withoutField } from "./changed.ts";

export interface Pruned {
  readonly value: unknown;
  readonly unknown: readonly string[];
}

interface Walk {
  /** The names and indexes down to where it is, for those few places of which something is said. */
  readonly path: (string | number)[];
  readonly unknown: string[];
}

export function prune(schema: Schema, value: unknown): Pruned {
  const walk: Walk = { path: [], unknown: [] };
  return { value: visit(schema, value, walk), unknown: walk.unknown };
}

function visit(schema: Schema, value: unknown, walk: Walk): unknown {
  if (schema.type === "array" && Array.isArray(value))
    return changedItems(value, (item, i) => within(schema.items, item, i, walk));
  if (!isRecord(value) || schema.type === "any") return value;
  if (schema.type === "map" || schema.type === "object") return visitFields(schema, value, walk);
  // Where no object is expected, the type check speaks; but strict decoding also names what is inside.
  for (const key of Object.keys(value)) walk.unknown.push(pathOf(walk, key));
  return value;
}

function visitFields(schema: MapNode | ObjectNode, value: Fields, walk: Walk): Fields {
  let out = value;
  for (const name of Object.keys(value)) {
    const field = schema.type === "map" ? schema.values : fieldOf(schema, name);
    if (field) out = withField(value, out, name, within(field, value[name], name, walk));
    else if (schema.type === "object" && !schema.preserveUnknown) {
      walk.unknown.push(pathOf(walk, name));
      out = withoutField(value, out, name);
    }
  }
  return out;
}

function fieldOf({ fields }: ObjectNode, name: string): Schema | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function within(schema: Schema, value: unknown, part: string | number, walk: Walk): unknown {
  if (typeof value !== "object" || value === null) return value;
  walk.path.push(part);
  const out = visit(schema, value, walk);
  walk.path.pop();
  return out;
}

function pathOf({ path }: Walk, last: string): string {
  const parent = path.reduce<string>(
    (text, part) => (typeof part === "number" ? itemPath(text, part) : fieldPath(text, part)),
    "",
  );
  return fieldPath(parent, last);
}
