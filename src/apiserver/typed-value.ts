/**
 * Values with the schema that says how they are merged: which fields an object has, how two differ, what one becomes
 * when another is applied onto it or fields are taken out of it. Lists are maps, sets or single values; maps likewise.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../lib/index.ts";
import { type Fields, recordAt, textAt, textsAt } from "./access.ts";
import type { Definitions } from "./definitions.ts";
import { emptySet, type FieldSet, fieldSet, leaf } from "./field-set.ts";
import type { JsonSchema } from "./kind.ts";

export interface Typed {
  readonly definitions: Definitions;
  readonly schema: JsonSchema;
}

/** The parts of a value that are merged one by one; undefined for what is one whole. */
type Parts = ReadonlyMap<string, { readonly value: unknown; readonly schema: JsonSchema }>;

/** Parts of the keys of lists that Kubernetes fills in before it compares. */
const keyDefaults: Readonly<Record<string, string>> = { protocol: "TCP" };

function partsOf(typed: Typed, value: unknown): Parts | undefined {
  const schema = typed.definitions.resolve(typed.schema);
  // How a list is merged may be said where it is used or where it is defined.
  const mapType = textAt(typed.schema, "x-kubernetes-map-type") || textAt(schema, "x-kubernetes-map-type");
  if (isRecord(value)) return mapType === "atomic" ? undefined : objectParts(schema, value);
  if (!Array.isArray(value)) return undefined;
  const items = isRecord(schema.items) ? schema.items : {};
  switch (schema["x-kubernetes-list-type"]) {
    case "map":
      return new Map(value.map((item) => [itemKey(typed.definitions, schema, item), { value: item, schema: items }]));
    case "set":
      return new Map(value.map((item) => [`v:${JSON.stringify(item)}`, { value: item, schema: items }]));
    default:
      return undefined;
  }
}

function objectParts(schema: JsonSchema, value: Fields): Parts {
  const properties = recordAt(schema, "properties");
  const rest = isRecord(schema.additionalProperties) ? schema.additionalProperties : {};
  return new Map(
    Object.entries(value).map(([name, inner]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : rest;
      return [`f:${name}`, { value: inner, schema: isRecord(own) ? own : {} }];
    }),
  );
}

function itemKey(definitions: Definitions, schema: JsonSchema, item: unknown): string {
  const properties = recordAt(definitions.resolve(schema.items), "properties");
  const keys = [...textsAt(schema, "x-kubernetes-list-map-keys")].sort();
  const pairs = keys.flatMap((key) => {
    const value = (isRecord(item) ? item[key] : undefined) ?? recordAt(properties, key).default ?? keyDefaults[key];
    return value === undefined ? [] : [[key, value]];
  });
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

export function fieldsOf(typed: Typed, value: unknown): FieldSet {
  const parts = partsOf(typed, value);
  if (parts === undefined || parts.size === 0) return leaf;
  return fieldSet(
    false,
    [...parts].map(([name, part]) => {
      const inner = fieldsOf({ ...typed, schema: part.schema }, part.value);
      return [name, name.startsWith("k:") ? { ...inner, own: true } : inner];
    }),
  );
}

/** The fields of `next` that `before` lacks or has with another value. */
export function changedFields(typed: Typed, before: unknown, next: unknown): FieldSet {
  if (isDeepStrictEqual(before, next)) return emptySet;
  if (before === undefined) return fieldsOf(typed, next);
  const [was, is] = [partsOf(typed, before), partsOf(typed, next)];
  if (was === undefined || is === undefined || is.size === 0) return leaf;
  return fieldSet(
    false,
    [...is].map(([name, part]) => {
      const old = was.get(name);
      const inner = changedFields({ ...typed, schema: part.schema }, old?.value, part.value);
      return [name, old === undefined && name.startsWith("k:") ? { ...inner, own: true } : inner];
    }),
  );
}

/** `applied` laid over `live`: what it says wins, what it does not mention stays. */
export function mergeTyped(typed: Typed, live: unknown, applied: unknown): unknown {
  const [was, is] = [partsOf(typed, live), partsOf(typed, applied)];
  if (was === undefined || is === undefined) return applied;
  const merged = new Map([...was].map(([name, part]) => [name, part.value]));
  for (const [name, part] of is) {
    const old = was.get(name);
    merged.set(
      name,
      old === undefined ? part.value : mergeTyped({ ...typed, schema: part.schema }, old.value, part.value),
    );
  }
  return assemble(applied, merged);
}

/** The value without the fields of the set; what they leave empty goes too, where it was not in the value for itself. */
export function removeFields(typed: Typed, value: unknown, removed: FieldSet): unknown {
  const parts = partsOf(typed, value);
  if (parts === undefined) return value;
  const kept = new Map<string, unknown>();
  for (const [name, part] of parts) {
    const inner = removed.children.get(name);
    if (inner === undefined) kept.set(name, part.value);
    else if (!inner.own) {
      const rest = removeFields({ ...typed, schema: part.schema }, part.value, inner);
      if (!isEmptyValue(rest)) kept.set(name, rest);
    }
  }
  return assemble(value, kept);
}

function assemble(like: unknown, parts: ReadonlyMap<string, unknown>): unknown {
  if (Array.isArray(like)) return [...parts.values()];
  return Object.fromEntries([...parts].map(([name, value]) => [name.slice(2), value]));
}

function isEmptyValue(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}
