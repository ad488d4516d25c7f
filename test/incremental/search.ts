/** Seed and length in; the report of a difference, where there is one, out. Streams are looked at when nothing else differs. */
import { createLife } from "./life.ts";
import { play } from "./play.ts";
import { sayDifference } from "./report.ts";
import { shrink } from "./shrink.ts";
import { playStreams } from "./streams.ts";

export interface Searched {
  readonly difference: string | undefined;
  /** How often streams have refused something. */
  readonly refusals: number;
  /** How many resources gRPC applications held at the end. */
  readonly dialed: number;
}

export async function search(seed: number, steps: number, shrinkMs: number): Promise<Searched> {
  const life = createLife(seed, steps);
  const met = await play(life);
  if (!met) return searchStreams(seed, steps);
  return {
    difference: await sayDifference({ seed, steps, met, ...(await shrink(life, met, shrinkMs)) }),
    refusals: 0,
    dialed: 0,
  };
}

/** The same life with streams: what they hold at its end. */
async function searchStreams(seed: number, steps: number): Promise<Searched> {
  const { wrong, ...counts } = await playStreams(createLife(seed, steps), seed);
  return { difference: wrong && `seed ${seed}, after ${steps} steps: ${wrong}`, ...counts };
}
