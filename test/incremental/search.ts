/** Seed and length in; the report of a difference, or nothing, out. */
import { createLife } from "./life.ts";
import { play } from "./play.ts";
import { sayDifference } from "./report.ts";
import { shrink } from "./shrink.ts";

export async function search(seed: number, steps: number, shrinkMs: number): Promise<string | undefined> {
  const life = createLife(seed, steps);
  const met = await play(life);
  if (!met) return undefined;
  return sayDifference({ seed, steps, met, ...(await shrink(life, met, shrinkMs)) });
}
