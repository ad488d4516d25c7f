/** Seed and length in; the report of a difference, or nothing, out. Streams are looked at when nothing else differs. */
import { createLife } from "./life.ts";
import { play } from "./play.ts";
import { sayDifference } from "./report.ts";
import { shrink } from "./shrink.ts";
import { playStreams } from "./streams.ts";

export async function search(seed: number, steps: number, shrinkMs: number): Promise<string | undefined> {
  const life = createLife(seed, steps);
  const met = await play(life);
  if (!met) return searchStreams(seed, steps);
  return sayDifference({ seed, steps, met, ...(await shrink(life, met, shrinkMs)) });
}

/** The same life with streams: what they hold at its end. */
async function searchStreams(seed: number, steps: number): Promise<string | undefined> {
  const found = await playStreams(createLife(seed, steps), seed);
  return found && `seed ${seed}, after ${steps} steps: ${found}`;
}
