/** The versions of a CustomResourceDefinition in; why their patterns would keep everybody waiting while they are compiled, out. */
import { measurePattern } from "../lib/index.ts";

/** Of all different patterns together, in instructions: about a tenth of a second. Of Istio's definitions none has 300. */
const mostInstructions = 20_000;

export function patternsError(versions: readonly unknown[]): string | undefined {
  const counted = new Set<string>();
  let instructions = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || instructions > mostInstructions) return;
    for (const [key, item] of Object.entries(value)) {
      if (key !== "pattern" || typeof item !== "string") visit(item);
      else if (item.length <= 1024 && !counted.has(item)) {
        counted.add(item);
        instructions += measurePattern(item).most;
      }
    }
  };
  visit(versions);
  if (instructions <= mostInstructions) return undefined;
  return `the patterns of its schemas are too large to compile: together they have more than ${mostInstructions} instructions`;
}
