/** JSON text in; what it says, and the keys that are in it twice, out. */
import { type RepeatedKey, repeatedKeys } from "./json-keys.ts";
import { type ParseLimits, parseInSteps } from "./parse.ts";

/**
 * To look for the keys costs as much as all else, and nearly no text has any: their number says so. Pauses where others may
 * be let in.
 */
export function* parseWithRepeated(
  text: string,
  limits?: ParseLimits,
): Generator<void, { readonly value: unknown; readonly repeated: readonly RepeatedKey[] }> {
  const { value, fields } = yield* parseInSteps(text, limits);
  yield;
  return { value, repeated: countFields(value) === fields ? [] : repeatedKeys(text) };
}

function countFields(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countFields(item);
  else for (const name in value) count += 1 + countFields((value as Readonly<Record<string, unknown>>)[name]);
  return count;
}
