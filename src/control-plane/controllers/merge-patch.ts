/** What is there and what should be in; the JSON merge patch (RFC 7386) from one to the other out. */
import { sameData } from "../../collections/index.ts";
import { isRecord } from "../../lib/index.ts";

type Json = Readonly<Record<string, unknown>>;

/** Members that are gone become null; lists are replaced whole. */
export function mergePatch(from: Json, to: Json): Json {
  const removed = Object.keys(from).flatMap((key) => (to[key] === undefined ? [[key, null] as const] : []));
  const changed = Object.entries(to).flatMap(([key, value]) => {
    const before = from[key];
    if (value === undefined || sameData(before, value)) return [];
    return [[key, isRecord(before) && isRecord(value) ? mergePatch(before, value) : value] as const];
  });
  return Object.fromEntries([...removed, ...changed]);
}
