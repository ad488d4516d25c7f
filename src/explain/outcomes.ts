/** What a caller sends in; everything that may become of it out, each with its odds, the likeliest first. */
import { type Departure, type Explanation, explain, type World } from "./explain.ts";
import { type Choose, likeliest, type Outcome } from "./trace.ts";

export interface Possibilities {
  /** The likeliest way. */
  readonly main: Explanation;
  /** By what the caller gets, with the sum of their odds; the first is that of `main`. */
  readonly outcomes: readonly { readonly odds: number; readonly outcome: Outcome; readonly example: Explanation }[];
  /** Ways that were not followed, by their odds: more than anybody would read. */
  readonly unfollowed: number;
}

/** Ways that are followed: weights and endpoints multiply. */
const maxWays = 64;

export function possibilities(world: World, departure: Departure): Possibilities {
  const all = explainAll(world, departure);
  const [main = explain(world, departure)] = all;
  const followed = all.reduce((sum, { odds }) => sum + odds, 0);
  return { main, outcomes: grouped(all), unfollowed: Math.max(0, Math.round((1 - followed) * 1e6) / 1e6) };
}

/** Each way: always what is likeliest first, and from there every other choice that was left. */
export function explainAll(world: World, departure: Departure): readonly Explanation[] {
  const main = explain(world, departure);
  const all: Explanation[] = [main];
  const open: { readonly prefix: readonly number[] }[] = branches(main, 0);
  let next = open.shift();
  while (next && all.length < maxWays) {
    const { prefix } = next;
    const way = explain(world, departure, following(prefix));
    all.push(way);
    open.push(...branches(way, prefix.length));
    next = open.shift();
  }
  return all;
}

const following =
  (prefix: readonly number[]): Choose =>
  (index, options) =>
    prefix[index] ?? likeliest(index, options);

/** At every choice from there on, each option that was not taken. */
function branches({ choices }: Explanation, from: number): { readonly prefix: readonly number[] }[] {
  return choices.flatMap(({ options, taken }, i) =>
    i < from
      ? []
      : options.flatMap((_, option) =>
          option === taken ? [] : [{ prefix: [...choices.slice(0, i).map((choice) => choice.taken), option] }],
        ),
  );
}

function grouped(ways: readonly Explanation[]): Possibilities["outcomes"] {
  const groups = new Map<string, { odds: number; readonly outcome: Outcome; readonly example: Explanation }>();
  for (const way of ways) {
    // Endpoints of one cluster are one outcome.
    const key =
      way.outcome.kind === "reached"
        ? way.hops.map(({ route, cluster }) => [route, cluster]).join()
        : JSON.stringify(way.outcome);
    const known = groups.get(key);
    if (known) known.odds += way.odds;
    else groups.set(key, { odds: way.odds, outcome: way.outcome, example: way });
  }
  const [first, ...rest] = groups.values();
  return first ? [first, ...rest.sort((a, b) => b.odds - a.odds)] : [];
}
