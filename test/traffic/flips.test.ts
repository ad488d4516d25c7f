/** Make before break, on real Envoys under constant traffic, without retries that would hide a gap. */
import { describe, expect, test } from "vitest";
import { lacks } from "../require.ts";
import { runFlips } from "./flips.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("flips", () => {
  test("D02: 100 flips of routes and their destinations cost no request, over delta and state of the world", {
    timeout: 90_000,
  }, async () => {
    const { requests, failures, refusals } = await runFlips(100);
    expect(failures).toEqual([]);
    expect(refusals).toEqual([]);
    expect(requests).toBeGreaterThan(500);
  });
});
