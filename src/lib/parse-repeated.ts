/** JSON text in; what it says, and the keys that are in it twice, out. */
import { type RepeatedKey, repeatedKeys } from "./json-keys.ts";
import { type ParseLimits, parseCounted } from "./parse.ts";

/** To look for the keys costs as much as all else, and nearly no text has any: their number says so. */
export function parseWithRepeated(
  text: string,
  limits?: ParseLimits,
): { readonly value: unknown; readonly repeated: readonly RepeatedKey[] } {
  const { value, fields } = parseCounted(text, limits);
  return { value, repeated: countFields(value) === fields ? [] : repeatedKeys(text) };
}

function countFields(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countFields(item);
  else for (const item of Object.values(value)) count += 1 + countFields(item);
  return count;
}
