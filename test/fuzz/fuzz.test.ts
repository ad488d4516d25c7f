import { expect, test } from "vitest";
import { fuzz } from "./fuzz.ts";
import { fuzzTarget } from "./run-targets.ts";
import { target } from "./target.ts";

const seed = Number(process.env.FAIRLEAD_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

test(`whatever comes in is answered or refused, and nothing else happens (seed ${seed})`, {
  timeout: 300_000,
}, async () => {
  const { outcomes, hang } = await fuzz({ seed, runs: 400, first: 0, only: "" });
  expect(hang, `seed ${seed}`).toBeUndefined();
  expect(
    outcomes.flatMap(({ crashes }) => crashes),
    `npm run fuzz -- --seed ${seed}`,
  ).toEqual([]);
  expect(outcomes.length).toBeGreaterThanOrEqual(20);
  // A target that never gets past the first check tries nothing.
  expect(outcomes.filter(({ answered }) => answered === 0).map((one) => one.target)).toEqual([]);
});

test("the harness sees what it is there for", async () => {
  const bad = (name: string, run: () => unknown) => target({ name, input: () => "x", run });
  const of = async (run: () => unknown): Promise<string | undefined> =>
    (await fuzzTarget(bad("bad", run), { seed: 1, runs: 1 })).crashes[0]?.why;
  expect(await of(() => JSON.parse("{"))).toContain("SyntaxError");
  expect(await of(() => "y".repeat(1_000_000))).toContain("bytes came of 1");
  expect(await of(() => Object.assign(Object.getPrototypeOf({}), { evil: 1 }))).toContain("evil");
  expect(await of(() => "fine")).toBeUndefined();
});
