/**
 * A Pod and what is laid over it in; the merged Pod out, by the rules of Kubernetes' strategic merge: objects field by
 * field, lists with a merge key item by item, other lists whole, null removes.
 */
import { FairleadError, isRecord } from "../../lib/index.ts";
import type { ObjectType, ValueType } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

export function overlay(type: ObjectType, target: Fields, patch: Fields): Fields {
  if (patch.$patch === "replace") return withoutDirectives(patch);
  const out = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$")) continue;
    if (value === null) out.delete(name);
    else if (value !== undefined) out.set(name, overlayValue(type.fields.get(name)?.value, out.get(name), value));
  }
  return Object.fromEntries(out);
}

function overlayValue(type: ValueType | undefined, target: unknown, value: unknown): unknown {
  if (isRecord(value)) {
    const inner = type?.kind === "object" ? type.type() : untyped;
    return overlay(inner, isRecord(target) ? target : {}, value);
  }
  if (!Array.isArray(value) || type?.kind !== "list" || type.mergeKey === undefined) return value;
  return overlayList(type.items, type.mergeKey, Array.isArray(target) ? target : [], value);
}

const untyped: ObjectType = { name: "", fields: new Map() };

/** Merging into an item again and again costs as much each time as it has grown to. */
const maxRepeats = 100;

function overlayList(
  items: ValueType,
  key: string,
  target: readonly unknown[],
  patch: readonly unknown[],
): readonly unknown[] {
  const before = patch.some((item) => isRecord(item) && item.$patch === "replace") ? [] : target.filter(isRecord);
  const inner = items.kind === "object" ? items.type() : untyped;
  const merged: (Fields | undefined)[] = [...before];
  // Found by their keys: two long lists would else be compared each with each.
  const places = Map.groupBy(before.keys(), (at) => before[at]?.[key]);
  const named = new Map<unknown, number>();
  for (const item of patch) {
    if (!isRecord(item)) throw new FairleadError("invalid", `an item that is merged by ${key} must be an object`);
    const id = item[key];
    if (id === undefined && item.$patch === "replace") continue;
    if (id === undefined)
      throw new FairleadError("invalid", `an item that is merged by ${key} does not say its ${key}`);
    if (item.$patch === "delete") {
      for (const gone of places.get(id) ?? []) merged[gone] = undefined;
      places.delete(id);
      continue;
    }
    // Of several with the same key, the first is meant, as Kubernetes has it.
    const [at] = places.get(id) ?? [];
    if (at === undefined) places.set(id, [merged.push(overlay(inner, {}, item)) - 1]);
    else merged[at] = overlay(inner, merged[at] ?? {}, item);
    const repeats = (named.get(id) ?? 0) + 1;
    if (repeats > maxRepeats)
      throw new FairleadError("invalid", `more than ${maxRepeats} items have the ${key} ${JSON.stringify(id)}`);
    named.set(id, repeats);
  }
  return inOrder(
    before,
    merged.filter((item) => item !== undefined),
    new Set(named.keys()),
    key,
  );
}

/**
 * What the patch names comes in the patch's order; what it leaves alone stays before the items that it stood before, and
 * otherwise comes last.
 */
function inOrder(
  before: readonly Fields[],
  merged: readonly Fields[],
  named: ReadonlySet<unknown>,
  key: string,
): readonly Fields[] {
  const first = new Map([...before.entries()].reverse().map(([at, item]) => [item[key], at]));
  const place = (item: Fields): number => first.get(item[key]) ?? -1;
  const byKey = Map.groupBy(merged, (item) => item[key]);
  const changed = [...named].flatMap((id) => byKey.get(id) ?? []);
  const alone = merged.filter((item) => !named.has(item[key]));
  const out: Fields[] = [];
  let next = 0;
  for (const item of changed) {
    const limit = place(item);
    for (let left = alone[next]; left && place(left) < limit; left = alone[++next]) out.push(left);
    out.push(item);
  }
  return [...out, ...alone.slice(next)];
}

/** New content must not carry directives along. */
function withoutDirectives(value: Fields): Fields {
  return Object.fromEntries(Object.entries(value).filter(([name, inner]) => !name.startsWith("$") && inner !== null));
}
