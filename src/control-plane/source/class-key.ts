/** A class of proxies in; the text by which it is known out. */
import { keyFor } from "../../lib/index.ts";
import type { ProxyClass } from "../../model/index.ts";

/** The same class gives the same key whatever the order of its labels. All have all fields, in one order. */
export function classKey(proxyClass: ProxyClass): string {
  return keyFor(JSON.stringify(Object.values(proxyClass).map(ordered)));
}

function ordered(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.some(isObject) ? value.map(ordered) : value;
  const keys = Object.keys(value).sort();
  return [keys, keys.map((key) => ordered((value as Readonly<Record<string, unknown>>)[key]))];
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
