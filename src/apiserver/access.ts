/** Plain reading of unknown data: a path in, a value of the wanted type or nothing out. */
import { isRecord } from "../lib/index.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isRecord(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === "number" ? found : undefined;
}

export function recordAt(value: unknown, ...path: readonly string[]): Fields {
  const found = at(value, ...path);
  return isRecord(found) ? found : {};
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

/** By definition where assignment would not be one: `__proto__` is a name like any other. */
export function setField(fields: Record<string, unknown>, name: string, value: unknown): void {
  if (name === "__proto__")
    Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
  else fields[name] = value;
}
