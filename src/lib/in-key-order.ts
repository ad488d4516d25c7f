/** Plain data in; the same with the keys of all its objects in order out. What is in order already is not copied. */
import { isRecord } from "./parse.ts";
import { compareText } from "./sort.ts";

export function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(inKeyOrder);
    return items.every((item, i) => Object.is(item, value[i])) ? value : items;
  }
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  const entries = keys.toSorted(compareText).map((key) => [key, inKeyOrder(value[key])] as const);
  const isInOrder = entries.every(([key, inner], i) => key === keys[i] && Object.is(inner, value[key]));
  return isInOrder ? value : Object.fromEntries(entries);
}
