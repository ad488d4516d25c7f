/** A spec in; why its patterns would keep everybody waiting while they are compiled, out. */
import { isRecord, measurePattern } from "../../lib/index.ts";

/** What repetitions may add to all patterns of one object, in instructions: less than a tenth of a second. */
const mostAdded = 50_000;

/** Checked before any is compiled: that happens on the loop that serves everybody. */
export function patternsError(spec: unknown): string | undefined {
  let added = 0;
  const counted = new Set<string>();
  const visit = (value: unknown, key: string): void => {
    if (added > mostAdded) return;
    if (typeof value === "string") {
      // One that stands twice is compiled once; one that is too long is refused without.
      if ((key !== "regex" && key !== "proxyVersion") || value.length > 1024 || counted.has(value)) return;
      counted.add(value);
      added += Math.max(0, measurePattern(value).most - value.length);
    } else if (Array.isArray(value)) for (const item of value) visit(item, key);
    else if (isRecord(value)) for (const [name, item] of Object.entries(value)) visit(item, name);
  };
  visit(spec, "");
  if (added <= mostAdded) return undefined;
  return `the repetitions in its patterns make them too large to compile: together they add more than ${mostAdded} instructions`;
}
