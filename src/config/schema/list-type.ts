/** A schema and a value in, the entries out that repeat the key of a `map` list or a value of a `set` list. */
import { isRecord } from "../../lib/index.ts";
import type { ArrayNode, Schema } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";
import { type FieldIssue, issue } from "./field-issue.ts";

export function checkListTypes(schema: Schema, value: unknown, path: string): readonly FieldIssue[] {
  if (schema.type === "array" && Array.isArray(value))
    return [
      ...repeated(schema, value, path),
      ...value.flatMap((item, i) => checkListTypes(schema.items, item, itemPath(path, i))),
    ];
  if (!isRecord(value)) return [];
  if (schema.type === "map")
    return Object.entries(value).flatMap(([key, item]) => checkListTypes(schema.values, item, itemPath(path, key)));
  if (schema.type !== "object") return [];
  return Object.entries(schema.fields).flatMap(([name, field]) =>
    Object.hasOwn(value, name) ? checkListTypes(field, value[name], fieldPath(path, name)) : [],
  );
}

function repeated(schema: ArrayNode, items: readonly unknown[], path: string): readonly FieldIssue[] {
  if (schema.listType !== "map" && schema.listType !== "set") return [];
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
