/** What became of a patch in; what its owner should know about it, in words, out. */
import type { PatchReport } from "./patch-run.ts";

/** Undefined where all is well. */
export function sayReport({ filter, field, problem, leftOut }: PatchReport): string | undefined {
  const where = `EnvoyFilter/${filter} ${field}`;
  if (problem !== undefined) return `${where} is skipped: ${problem}`;
  return leftOut.length > 0
    ? `${where} has fields that are not known, which are left out: ${[...leftOut].sort().join(", ")}`
    : undefined;
}
