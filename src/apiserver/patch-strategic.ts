/**
 * Kubernetes' strategic merge: an object, a patch and the kind's schema in, the patched object out. Lists whose schema
 * names a merge key are merged item by item; `$patch`, `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList`
 * are understood.
 */
import { isRecord } from "../lib/index.ts";
import { type Fields, recordAt, textAt } from "./access.ts";
import type { Definitions } from "./definitions.ts";
import { failure } from "./failure.ts";
import type { JsonSchema } from "./kind.ts";

const deleteList = "$deleteFromPrimitiveList/";
const setOrder = "$setElementOrder/";

export function strategicMerge(definitions: Definitions, schema: JsonSchema, target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) throw failure("BadRequest", "strategic merge patch: the body is not an object");
  return mergeObject(definitions, schema, isRecord(target) ? target : {}, patch);
}

function mergeObject(definitions: Definitions, schema: JsonSchema, target: Fields, patch: Fields): Fields {
  if (patch.$patch === "replace") return cleaned(patch);
  if (patch.$patch === "delete") return {};
  const out = new Map(Object.entries(target));
  const retain = Array.isArray(patch.$retainKeys) ? new Set<unknown>(patch.$retainKeys) : undefined;
  if (retain) for (const name of out.keys()) if (!retain.has(name)) out.delete(name);
  const schemaOf = fieldSchemas(definitions, schema);
  const names = Object.keys(patch);
  const orders = new Map(
    names.filter((name) => name.startsWith(setOrder)).map((name) => [name.slice(setOrder.length), patch[name]]),
  );
  for (const name of names) {
    const value = patch[name];
    if (name.startsWith(deleteList)) dropFrom(out, name.slice(deleteList.length), value);
    else if (name.startsWith("$")) continue;
    else if (value === null) out.delete(name);
    else if (typeof value !== "object") out.set(name, value);
    else out.set(name, mergeField(definitions, schemaOf(name), out.get(name), value, orders.get(name)));
  }
  // An order may be given for a list that is otherwise left as it is.
  for (const [field, order] of orders) {
    const list = out.get(field);
    if (!(field in patch) && Array.isArray(list)) out.set(field, inOrder(list, list, order, mergeKey(schemaOf(field))));
  }
  return Object.fromEntries(out);
}

function mergeField(
  definitions: Definitions,
  schema: JsonSchema,
  target: unknown,
  value: unknown,
  order: unknown,
): unknown {
  if (isRecord(value))
    return mergeObject(definitions, definitions.resolve(schema), isRecord(target) ? target : {}, value);
  if (!Array.isArray(value)) return value;
  const current = Array.isArray(target) ? target : [];
  if (!textAt(schema, "x-kubernetes-patch-strategy").includes("merge"))
    return value.map((item) => (isRecord(item) ? cleaned(item) : item));
  const key = mergeKey(schema);
  const merged = key === "" ? mergePrimitives(current, value) : mergeItems(definitions, schema, key, current, value);
  return inOrder(current, merged, Array.isArray(order) ? order : value, key);
}

function mergePrimitives(current: readonly unknown[], value: readonly unknown[]): readonly unknown[] {
  const known = new Set(current);
  return [...current, ...value.filter((item) => !known.has(item))];
}

function mergeItems(
  definitions: Definitions,
  schema: JsonSchema,
  key: string,
  current: readonly unknown[],
  value: readonly unknown[],
): readonly unknown[] {
  const inner = definitions.resolve(schema.items);
  const replace = value.some((item) => isRecord(item) && item.$patch === "replace");
  const out: unknown[] = replace ? [] : [...current];
  // Found by their keys: two long lists would else be compared each with each. A key may be there twice (one port by TCP
  // and by UDP): the first is the one that is meant.
  const places = new Map<unknown, number[]>();
  const place = (id: unknown, at: number): void => {
    const known = places.get(id);
    if (known) known.push(at);
    else places.set(id, [at]);
  };
  for (const [i, item] of out.entries()) place(idOf(item, key), i);
  for (const item of value) {
    if (!isRecord(item)) throw failure("BadRequest", `strategic merge patch: an item without ${key}`);
    if (item.$patch === "replace") continue;
    const id = idOf(item, key);
    if (id === undefined)
      throw failure("BadRequest", `strategic merge patch: an item of the list does not contain the merge key ${key}`);
    const [at] = places.get(id) ?? [];
    if (item.$patch === "delete") {
      for (const gone of places.get(id) ?? []) out[gone] = undefined;
      places.delete(id);
    } else if (at === undefined) place(id, out.push(mergeObject(definitions, inner, {}, item)) - 1);
    else out[at] = mergeObject(definitions, inner, recordAt(out[at]), item);
  }
  return out.filter((item) => item !== undefined);
}

/** What an item of a list is known by: itself, or what it has at the key (a number in one list, a text in another). */
function idOf(item: unknown, key: string): unknown {
  const id = key === "" ? item : isRecord(item) ? item[key] : undefined;
  return typeof id === "object" && id !== null ? JSON.stringify(id) : id;
}

/**
 * What the patch names comes in the patch's order (or in the order that it states); what it leaves alone stays before
 * the items that it stood before, and otherwise comes last.
 */
function inOrder(
  before: readonly unknown[],
  merged: readonly unknown[],
  order: unknown,
  key: string,
): readonly unknown[] {
  if (!Array.isArray(order)) return merged;
  const wanted = new Set<unknown>(order.map((item) => idOf(item, key)).filter((id) => id !== undefined));
  if (isOrdered(merged, wanted, key)) return merged;
  const places = new Map<unknown, number>();
  for (const [i, item] of before.entries()) {
    const id = idOf(item, key);
    if (!places.has(id)) places.set(id, i);
  }
  const named = new Map<unknown, unknown[]>();
  const alone: { readonly item: unknown; readonly place: number }[] = [];
  for (const item of merged) {
    const id = idOf(item, key);
    const same = named.get(id);
    if (!wanted.has(id)) alone.push({ item, place: places.get(id) ?? 0 });
    else if (same) same.push(item);
    else named.set(id, [item]);
  }
  const out: unknown[] = [];
  let next = 0;
  for (const id of wanted)
    for (const item of named.get(id) ?? []) {
      const limit = places.get(id) ?? -1;
      for (let one = alone[next]; one && one.place < limit; one = alone[++next]) out.push(one.item);
      out.push(item);
    }
  for (const { item } of alone.slice(next)) out.push(item);
  return out;
}

/** Who sends all that there is, and in its order, as most do. */
function isOrdered(merged: readonly unknown[], wanted: ReadonlySet<unknown>, key: string): boolean {
  if (wanted.size !== merged.length) return false;
  const ids = wanted.values();
  return merged.every((item) => idOf(item, key) === ids.next().value);
}

function dropFrom(out: Map<string, unknown>, name: string, values: unknown): void {
  const list = out.get(name);
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  const dropped = new Set<unknown>(values);
  out.set(
    name,
    list.filter((item) => !dropped.has(item)),
  );
}

function fieldSchemas(definitions: Definitions, schema: JsonSchema): (name: string) => JsonSchema {
  const properties = recordAt(definitions.resolve(schema), "properties");
  return (name) => {
    const found = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    return isRecord(found) ? found : {};
  };
}

function mergeKey(schema: JsonSchema): string {
  return textAt(schema, "x-kubernetes-patch-merge-key");
}

/** New content must not carry directives into the store. */
function cleaned(value: Fields): Fields {
  return Object.fromEntries(Object.entries(value).filter(([name, inner]) => !name.startsWith("$") && inner !== null));
}
