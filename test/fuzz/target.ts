/** What a fuzz target is: something that takes outside input, how to make such input, and what may come of it. */
import type { Random } from "../random.ts";

export interface Target {
  readonly name: string;
  /** An input, made from nothing but the choices of the random source. */
  input(random: Random): unknown;
  /** What it throws must be of our own error classes. */
  run(input: unknown): unknown;
  /** Most bytes of output for each byte of input, beside a fixed allowance; 64 where absent. */
  readonly growth?: number;
  /** A target whose single run costs far more than others, and so is run less often: one in so many. */
  readonly weight?: number;
}

/** With the type of input kept between its two halves. */
export function target<I>(of: {
  readonly name: string;
  readonly input: (random: Random) => I;
  readonly run: (input: I) => unknown;
  readonly growth?: number;
  readonly weight?: number;
}): Target {
  return { ...of, run: (input) => of.run(input as I) };
}
