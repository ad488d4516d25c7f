/** Two values as JSON has them in; every field that differs, before and after, as lines out. */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "./parse.ts";

/** `- PATH: VALUE` and `+ PATH: VALUE` of all that differs. */
export function* fieldLines(before: unknown, after: unknown, path = ""): Generator<string> {
  if (isDeepStrictEqual(before, after)) return;
  const [old, now] = [membersOf(before), membersOf(after)];
  if (!old || !now) {
    if (before !== undefined) yield `- ${path || "."}: ${JSON.stringify(before)}`;
    if (after !== undefined) yield `+ ${path || "."}: ${JSON.stringify(after)}`;
    return;
  }
  for (const key of new Set([...old.keys(), ...now.keys()]))
    yield* fieldLines(
      old.get(key),
      now.get(key),
      key.startsWith("[") || path === "" ? `${path}${key}` : `${path}.${key}`,
    );
}

/** Members of lists are found by their names where they have such, so that one more does not move all others. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) {
    const names = value.map((item: unknown) =>
      isRecord(item) && typeof item.name === "string" ? item.name : undefined,
    );
    const isNamed = names.every((name) => name !== undefined) && new Set(names).size === names.length;
    return new Map(value.map((item: unknown, i) => [`[${isNamed ? names[i] : i}]`, item]));
  }
  return isRecord(value) ? new Map(Object.entries(value)) : undefined;
}
