/** Does a value meet a JSON-schema condition (`anyOf`, `not`, …)? Yes or no; the caller words the answer. */
import { isIP } from "node:net";
import { compilePattern, dropOldest, isRecord } from "../../lib/index.ts";
import type { Junctor } from "../../model/index.ts";

export function meets(junctor: Junctor, value: unknown): boolean {
  return (
    meetsText(junctor, value) &&
    meetsRange(junctor, value) &&
    meetsFields(junctor, value) &&
    (junctor.enum === undefined || junctor.enum.includes(value)) &&
    (junctor.allOf ?? []).every((one) => meets(one, value)) &&
    (junctor.anyOf === undefined || junctor.anyOf.some((one) => meets(one, value))) &&
    (junctor.oneOf === undefined || junctor.oneOf.filter((one) => meets(one, value)).length === 1) &&
    (junctor.not === undefined || !meets(junctor.not, value))
  );
}

function meetsText(junctor: Junctor, value: unknown): boolean {
  if (typeof value !== "string") return true;
  const length = [...value].length;
  if (length < (junctor.minLength ?? 0) || length > (junctor.maxLength ?? Number.POSITIVE_INFINITY)) return false;
  if (junctor.format === "ipv4" && isIP(value) !== 4) return false;
  if (junctor.format === "ipv6" && isIP(value) !== 6) return false;
  return junctor.pattern === undefined || matchesPattern(junctor.pattern, value);
}

function meetsRange(junctor: Junctor, value: unknown): boolean {
  if (Array.isArray(value)) {
    const { items } = junctor;
    if (value.length > (junctor.maxItems ?? Number.POSITIVE_INFINITY)) return false;
    return items === undefined || value.every((item) => meets(items, item));
  }
  if (typeof value !== "number") return true;
  return (
    value >= (junctor.minimum ?? Number.NEGATIVE_INFINITY) && value <= (junctor.maximum ?? Number.POSITIVE_INFINITY)
  );
}

function meetsFields(junctor: Junctor, value: unknown): boolean {
  if (!isRecord(value)) return true;
  if (!(junctor.required ?? []).every((name) => Object.hasOwn(value, name))) return false;
  return Object.entries(junctor.properties ?? {}).every(
    ([name, one]) => !Object.hasOwn(value, name) || meets(one, value[name]),
  );
}

/** Patterns come from schemas, so that there are few of them; unless somebody writes schemas without end. */
const compiled = new Map<string, ReturnType<typeof compilePattern>>();
const maxCompiled = 2_000;

/** JSON schema patterns are not anchored. */
export function matchesPattern(source: string, text: string): boolean {
  const pattern = compiled.get(source) ?? compilePattern(source);
  compiled.set(source, pattern);
  dropOldest(compiled, maxCompiled);
  return "error" in pattern ? false : pattern.find(text);
}
