/** A schema and a value in, the entries out that repeat the key of a `map` list or a value of a `set` list. */
import { isRecord } from "../../lib/index.ts";
import type { ArrayNode, Schema } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";
import { type FieldIssue, issue } from "./field-issue.ts";

export function checkListTypes(schema: Schema, value: unknown, path: string): readonly FieldIssue[] {
  const issues: FieldIssue[] = [];
  if (hasListTypes(schema)) check(schema, value, path, issues);
  return issues;
}

/** Only of schemas that have such lists. */
function check(schema: Schema, value: unknown, path: string, issues: FieldIssue[]): void {
  if (schema.type === "array" && Array.isArray(value)) {
    for (const one of repeated(schema, value, path)) issues.push(one);
    if (hasListTypes(schema.items))
      for (const [i, item] of value.entries()) check(schema.items, item, itemPath(path, i), issues);
    return;
  }
  if (!isRecord(value)) return;
  if (schema.type === "map")
    for (const [key, item] of Object.entries(value)) check(schema.values, item, itemPath(path, key), issues);
  if (schema.type !== "object") return;
  for (const [name, field] of Object.entries(schema.fields))
    if (Object.hasOwn(value, name) && hasListTypes(field)) check(field, value[name], fieldPath(path, name), issues);
}

const withListTypes = new WeakMap<Schema, boolean>();

/** Most of an object has no such list in it; those parts are not walked. */
function hasListTypes(schema: Schema): boolean {
  const known = withListTypes.get(schema);
  if (known !== undefined) return known;
  const found =
    schema.type === "array"
      ? isKeyed(schema) || hasListTypes(schema.items)
      : schema.type === "map"
        ? hasListTypes(schema.values)
        : schema.type === "object" && Object.values(schema.fields).some(hasListTypes);
  withListTypes.set(schema, found);
  return found;
}

const isKeyed = ({ listType }: ArrayNode): boolean => listType === "map" || listType === "set";

function repeated(schema: ArrayNode, items: readonly unknown[], path: string): readonly FieldIssue[] {
  if (!isKeyed(schema)) return [];
  const seen = new Set<string>();
  return items.flatMap((item, i) => {
    const key = keyOf(schema, item);
    const text = JSON.stringify(key);
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    return [issue("FieldValueDuplicate", itemPath(path, i), "", key)];
  });
}

export function keyOf(schema: ArrayNode, item: unknown): unknown {
  if (schema.listType !== "map" || !isRecord(item)) return item;
  const keys = (schema.listMapKeys ?? []).filter((name) => Object.hasOwn(item, name));
  return Object.fromEntries(keys.map((name) => [name, item[name]]));
}
