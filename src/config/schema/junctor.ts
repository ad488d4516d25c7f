/** Does a value meet a JSON-schema condition (`anyOf`, `not`, …)? Yes or no; the caller words the answer. */
import { isIP } from "node:net";
import { compilePattern, dropOldest, FairleadError, isRecord } from "../../lib/index.ts";
import type { Junctor } from "../../model/index.ts";

/** What matching patterns may still cost for one object (`Pattern.workOn`). */
export interface PatternBudget {
  left: number;
}

/** Of one text, which is looked at in one go, and of all texts of an object. */
const maxWork = 2_000_000;
const maxTotalWork = 100_000_000;

export const patternBudget = (): PatternBudget => ({ left: maxTotalWork });

export function meets(junctor: Junctor, value: unknown, budget: PatternBudget): boolean {
  return (
    meetsText(junctor, value, budget) &&
    meetsRange(junctor, value, budget) &&
    meetsFields(junctor, value, budget) &&
    (junctor.enum === undefined || junctor.enum.includes(value)) &&
    (junctor.allOf ?? []).every((one) => meets(one, value, budget)) &&
    (junctor.anyOf === undefined || junctor.anyOf.some((one) => meets(one, value, budget))) &&
    (junctor.oneOf === undefined || junctor.oneOf.filter((one) => meets(one, value, budget)).length === 1) &&
    (junctor.not === undefined || !meets(junctor.not, value, budget))
  );
}

function meetsText(junctor: Junctor, value: unknown, budget: PatternBudget): boolean {
  if (typeof value !== "string") return true;
  if (junctor.minLength !== undefined && !isLonger(value, junctor.minLength - 1)) return false;
  if (junctor.maxLength !== undefined && isLonger(value, junctor.maxLength)) return false;
  if (junctor.format === "ipv4" && isIP(value) !== 4) return false;
  if (junctor.format === "ipv6" && isIP(value) !== 6) return false;
  return junctor.pattern === undefined || matchesPattern(junctor.pattern, value, budget);
}

/** In characters, of which some are two of the text's units; a long text is counted only where it matters. */
export function isLonger(text: string, length: number): boolean {
  if (text.length <= length || text.length > 2 * length) return text.length > length;
  let count = 0;
  for (const _ of text) count++;
  return count > length;
}

function meetsRange(junctor: Junctor, value: unknown, budget: PatternBudget): boolean {
  if (Array.isArray(value)) {
    const { items } = junctor;
    if (value.length > (junctor.maxItems ?? Number.POSITIVE_INFINITY)) return false;
    return items === undefined || value.every((item) => meets(items, item, budget));
  }
  if (typeof value !== "number") return true;
  return (
    value >= (junctor.minimum ?? Number.NEGATIVE_INFINITY) && value <= (junctor.maximum ?? Number.POSITIVE_INFINITY)
  );
}

function meetsFields(junctor: Junctor, value: unknown, budget: PatternBudget): boolean {
  if (!isRecord(value)) return true;
  if (!(junctor.required ?? []).every((name) => Object.hasOwn(value, name))) return false;
  return Object.entries(junctor.properties ?? {}).every(
    ([name, one]) => !Object.hasOwn(value, name) || meets(one, value[name], budget),
  );
}

/** Patterns come from schemas, so that there are few of them; unless somebody writes schemas without end. */
const compiled = new Map<string, ReturnType<typeof compilePattern>>();
const maxCompiled = 2_000;

/** JSON schema patterns are not anchored. Throws `too-large` where the text is too long for the pattern. */
export function matchesPattern(source: string, text: string, budget: PatternBudget): boolean {
  const pattern = compiled.get(source) ?? compilePattern(source);
  compiled.set(source, pattern);
  dropOldest(compiled, maxCompiled);
  if ("error" in pattern) return false;
  const work = pattern.workOn(text);
  budget.left -= work;
  if (work > maxWork || budget.left < 0)
    throw new FairleadError(
      "too-large",
      `Request entity too large: a text of ${text.length} characters takes too long to be compared with the pattern ${source.slice(0, 100)}`,
    );
  return pattern.find(text);
}
