/** RFC 7386: an object and a merge patch in, the patched object out. */
import { isRecord } from "../lib/index.ts";
import { setField } from "./access.ts";

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const out: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else setField(out, name, mergePatch(Object.hasOwn(out, name) ? out[name] : undefined, value));
  }
  return out;
}
