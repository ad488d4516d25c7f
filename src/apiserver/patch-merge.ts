/** RFC 7386: an object and a merge patch in, the patched object out. */
import { isRecord } from "../lib/index.ts";

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const out = new Map(Object.entries(isRecord(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) out.delete(name);
    else out.set(name, mergePatch(out.get(name), value));
  }
  return Object.fromEntries(out);
}
