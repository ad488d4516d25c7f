/**
 * Values with the schema that says how they are merged: which fields an object has, how two differ, what one becomes
 * when another is applied onto it or fields are taken out of it. Lists are maps, sets or single values; maps likewise.
 */
import { isRecord } from "../lib/index.ts";
import { recordAt, setField, textAt, textsAt } from "./access.ts";
import type { Definitions } from "./definitions.ts";
import { equalJson } from "./equal.ts";
import { emptySet, type FieldSet, isEmpty, leaf } from "./field-set.ts";
import type { JsonSchema } from "./kind.ts";

export interface Typed {
  readonly definitions: Definitions;
  readonly schema: JsonSchema;
}

/** The parts of a value that are merged one by one. */
interface Parts {
  readonly names: readonly string[];
  /** Undefined where there is no such part. */
  get(name: string): unknown;
  has(name: string): boolean;
  schemaOf(name: string): unknown;
}

/** Parts of the keys of lists that Kubernetes fills in before it compares. */
const keyDefaults: Readonly<Record<string, string>> = { protocol: "TCP" };

/** Undefined for what is one whole. */
function partsOf(definitions: Definitions, given: unknown, value: unknown): Parts | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const schema = definitions.resolve(given);
  if (Array.isArray(value)) return listParts(definitions, schema, value);
  // How a map is merged may be said where it is used or where it is defined.
  const mapType = textAt(given, "x-kubernetes-map-type") || textAt(schema, "x-kubernetes-map-type");
  if (mapType === "atomic" || !isRecord(value)) return undefined;
  const properties = recordAt(schema, "properties");
  return {
    names: Object.keys(value).map((name) => `f:${name}`),
    get: (name) => (Object.hasOwn(value, name.slice(2)) ? value[name.slice(2)] : undefined),
    has: (name) => name.startsWith("f:") && Object.hasOwn(value, name.slice(2)),
    schemaOf(name) {
      const own = name.slice(2);
      return Object.hasOwn(properties, own) ? properties[own] : schema.additionalProperties;
    },
  };
}

function listParts(definitions: Definitions, schema: JsonSchema, value: readonly unknown[]): Parts | undefined {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "map" && type !== "set") return undefined;
  const keyOf = type === "map" ? itemKeys(definitions, schema) : (item: unknown) => `v:${JSON.stringify(item)}`;
  const items = new Map(value.map((item) => [keyOf(item), item]));
  return {
    names: [...items.keys()],
    get: (name) => items.get(name),
    has: (name) => items.has(name),
    schemaOf: () => schema.items,
  };
}

function itemKeys(definitions: Definitions, schema: JsonSchema): (item: unknown) => string {
  const properties = recordAt(definitions.resolve(schema.items), "properties");
  const keys = [...textsAt(schema, "x-kubernetes-list-map-keys")].sort();
  const defaults = new Map(keys.map((key) => [key, recordAt(properties, key).default ?? keyDefaults[key]]));
  return (item) => {
    const pairs = keys.flatMap((key) => {
      const value = (isRecord(item) ? item[key] : undefined) ?? defaults.get(key);
      return value === undefined ? [] : [[key, value]];
    });
    return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
  };
}

/** Walks pause now and then, where others may be let in. */
interface Walk {
  readonly definitions: Definitions;
  /** Since the last pause. */
  parts: number;
}

const partsBetweenPauses = 4_000;

const walkOf = ({ definitions }: Typed): Walk => ({ definitions, parts: 0 });

function isPauseDue(walk: Walk, parts = 1): boolean {
  walk.parts += parts;
  if (walk.parts < partsBetweenPauses) return false;
  walk.parts = 0;
  return true;
}

export function fieldsOf(typed: Typed, value: unknown): Generator<void, FieldSet> {
  return allFields(walkOf(typed), typed.schema, value);
}

function* allFields(walk: Walk, schema: unknown, value: unknown): Generator<void, FieldSet> {
  const parts = partsOf(walk.definitions, schema, value);
  if (isPauseDue(walk, parts?.names.length)) yield;
  if (parts === undefined || parts.names.length === 0) return leaf;
  const children = new Map<string, FieldSet>();
  for (const name of parts.names) {
    if (isPauseDue(walk)) yield;
    const inner = parts.get(name);
    const isOne = typeof inner !== "object" || inner === null;
    children.set(name, asItem(name, isOne ? leaf : yield* allFields(walk, parts.schemaOf(name), inner)));
  }
  return { own: false, children };
}

/** An item of a list that is a map is a field itself, whatever is in it. */
function asItem(name: string, set: FieldSet): FieldSet {
  return name.startsWith("k:") && !set.own ? { ...set, own: true } : set;
}

/** The fields of `next` that `before` lacks or has with another value. */
export function changedFields(typed: Typed, before: unknown, next: unknown): Generator<void, FieldSet> {
  return before === undefined ? fieldsOf(typed, next) : changed(walkOf(typed), typed.schema, before, next);
}

function* changed(walk: Walk, schema: unknown, before: unknown, next: unknown): Generator<void, FieldSet> {
  if (Object.is(before, next)) return emptySet;
  const was = partsOf(walk.definitions, schema, before);
  if (isPauseDue(walk, was?.names.length)) yield;
  const is = partsOf(walk.definitions, schema, next);
  if (isPauseDue(walk, is?.names.length)) yield;
  if (was === undefined || is === undefined || is.names.length === 0) return equalJson(before, next) ? emptySet : leaf;
  const children = new Map<string, FieldSet>();
  for (const name of is.names) {
    if (isPauseDue(walk)) yield;
    const [old, inner] = [was.get(name), is.get(name)];
    if (Object.is(old, inner) && was.has(name)) continue;
    const set = was.has(name)
      ? yield* changed(walk, is.schemaOf(name), old, inner)
      : asItem(name, yield* allFields(walk, is.schemaOf(name), inner));
    if (!isEmpty(set)) children.set(name, set);
  }
  return children.size === 0 ? emptySet : { own: false, children };
}

/** The fields of `before` that `next` has no more. */
export function goneFields(typed: Typed, before: unknown, next: unknown): Generator<void, FieldSet> {
  return gone(walkOf(typed), typed.schema, before, next);
}

function* gone(walk: Walk, schema: unknown, before: unknown, next: unknown): Generator<void, FieldSet> {
  if (Object.is(before, next)) return emptySet;
  const was = partsOf(walk.definitions, schema, before);
  if (isPauseDue(walk, was?.names.length)) yield;
  const is = partsOf(walk.definitions, schema, next);
  if (isPauseDue(walk, is?.names.length)) yield;
  const isWhole = is === undefined || is.names.length === 0;
  if (was === undefined || was.names.length === 0) return isWhole ? emptySet : leaf;
  const children = new Map<string, FieldSet>();
  for (const name of was.names) {
    if (isPauseDue(walk)) yield;
    const isKept = !isWhole && is.has(name);
    if (isKept && Object.is(was.get(name), is.get(name))) continue;
    const set = isKept
      ? yield* gone(walk, was.schemaOf(name), was.get(name), is.get(name))
      : asItem(name, yield* allFields(walk, was.schemaOf(name), was.get(name)));
    if (!isEmpty(set)) children.set(name, set);
  }
  return children.size === 0 ? emptySet : { own: false, children };
}

/** `applied` laid over `live`: what it says wins, what it does not mention stays. */
export function mergeTyped(typed: Typed, live: unknown, applied: unknown): Generator<void, unknown> {
  return merged(walkOf(typed), typed.schema, live, applied);
}

function* merged(walk: Walk, schema: unknown, live: unknown, applied: unknown): Generator<void, unknown> {
  const was = partsOf(walk.definitions, schema, live);
  if (isPauseDue(walk, was?.names.length)) yield;
  const is = partsOf(walk.definitions, schema, applied);
  if (isPauseDue(walk, is?.names.length)) yield;
  if (was === undefined || is === undefined) return applied;
  const out = new Map<string, unknown>();
  for (const name of was.names) out.set(name, was.get(name));
  for (const name of is.names) {
    if (isPauseDue(walk)) yield;
    const inner = is.get(name);
    const isOne = typeof inner !== "object" || inner === null || !was.has(name);
    out.set(name, isOne ? inner : yield* merged(walk, is.schemaOf(name), was.get(name), inner));
  }
  return assemble(applied, out);
}

/** The value without the fields of the set; what they leave empty goes too, where it was not in the value for itself. */
export function removeFields(typed: Typed, value: unknown, removed: FieldSet): Generator<void, unknown> {
  return without(walkOf(typed), typed.schema, value, removed);
}

function* without(walk: Walk, schema: unknown, value: unknown, removed: FieldSet): Generator<void, unknown> {
  const parts = removed.children.size === 0 ? undefined : partsOf(walk.definitions, schema, value);
  if (parts === undefined) return value;
  const kept = new Map<string, unknown>();
  for (const name of parts.names) {
    if (isPauseDue(walk)) yield;
    const inner = removed.children.get(name);
    if (inner === undefined) kept.set(name, parts.get(name));
    else if (!inner.own) {
      const rest = yield* without(walk, parts.schemaOf(name), parts.get(name), inner);
      if (!isEmptyValue(rest)) kept.set(name, rest);
    }
  }
  return assemble(value, kept);
}

function assemble(like: unknown, parts: ReadonlyMap<string, unknown>): unknown {
  if (Array.isArray(like)) return [...parts.values()];
  const out: Record<string, unknown> = {};
  for (const [name, value] of parts) setField(out, name.slice(2), value);
  return out;
}

function isEmptyValue(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}
