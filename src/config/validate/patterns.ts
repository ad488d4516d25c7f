/** A spec in; why its patterns would keep everybody waiting while they are compiled, out. */
import { isRecord, measurePattern } from "../../lib/index.ts";

/** What repetitions may add to all patterns of one object, in instructions: less than a tenth of a second. */
const mostAdded = 50_000;
/** All instructions of all patterns of one object, each with what any pattern costs: a tenth of a second. */
const [mostInAll, ofAny] = [150_000, 40];

/** Checked before any is compiled: that happens on the loop that serves everybody. */
export function patternsError(spec: unknown): string | undefined {
  let added = 0;
  let all = 0;
  const counted = new Set<string>();
  const visit = (value: unknown, key: string): void => {
    if (added > mostAdded || all > mostInAll) return;
    if (typeof value === "string") {
      // One that stands twice is compiled once; one that is too long is refused without.
      if ((key !== "regex" && key !== "proxyVersion") || value.length > 1024 || counted.has(value)) return;
      counted.add(value);
      const { most } = measurePattern(value);
      added += Math.max(0, most - value.length);
      all += most + ofAny;
    } else if (Array.isArray(value)) for (const item of value) visit(item, key);
    else if (isRecord(value)) for (const [name, item] of Object.entries(value)) visit(item, name);
  };
  visit(spec, "");
  if (all > mostInAll)
    return "its patterns are together too large to compile while others wait: write fewer, or put them into several objects";
  if (added <= mostAdded) return undefined;
  return `the repetitions in its patterns make them too large to compile: together they add more than ${mostAdded} instructions`;
}
