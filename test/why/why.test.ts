/** A short part of `npm run why-check`: what `why` says is what real Envoys do, by their answers and access logs. */
import { describe, expect, test } from "vitest";
import { lacks } from "../require.ts";
import { checkWhy } from "./check.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("why, against real Envoys", () => {
  test("random requests end as was said", async () => {
    const seed = Number(process.env.FAIRLEAD_SEED ?? 20261115);
    const { differences, counts } = await checkWhy({ seed, rounds: 2, requests: 50, tell: () => {} });
    expect(differences).toEqual([]);
    expect(counts.size).toBeGreaterThan(10);
  });
});
