/** A short, seeded part of `npm run chaos`: a small mesh, a few faults, and one pair. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../random.ts";
import { lacks } from "../require.ts";
import { faults } from "./faults/index.ts";
import { type ChaosMesh, startChaosMesh } from "./mesh.ts";
import { play } from "./play.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("faults under load", () => {
  let mesh: ChaosMesh | undefined;
  beforeAll(async () => {
    mesh = await startChaosMesh({ apps: [{ name: "web", count: 2 }], pauseMs: 20, say: () => {} });
  });
  afterAll(() => mesh?.close(), 60_000);

  test.each(["kill-control-plane", "kill-agent", "kill-edge + kill-envoy"])(
    "%s: no request is lost but those under way on what was killed, and the mesh heals",
    { timeout: 300_000 },
    async (names) => {
      if (!mesh) throw new Error("there is no mesh");
      const together = faults.filter(({ name }) => names.split(" + ").includes(name));
      const outcome = await play(mesh, together, createRandom(10));
      expect(outcome.wrong, JSON.stringify(outcome.causes)).toEqual([]);
      expect(outcome.requests).toBeGreaterThan(20);
    },
  );
});
