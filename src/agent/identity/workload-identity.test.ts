import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import type { WorkloadCredentials } from "./credentials.ts";
import { createWorkloadIdentity, renewalTime } from "./workload-identity.ts";

const credentials = (name: string, lifeMs: number): WorkloadCredentials => ({
  chain: name,
  key: "key",
  roots: "roots",
  notAfter: new Date(Date.now() + lifeMs),
});
const base = { now: () => new Date(), random: Math.random, log: silentLogger, retry: { minMs: 5, maxMs: 10 } };

/** Resolves with the chains of the first so many credentials. */
function collect(identity: ReturnType<typeof createWorkloadIdentity>, count: number): Promise<readonly string[]> {
  const seen: string[] = [];
  return new Promise((resolve) => {
    const stop = identity.onChange((fresh) => {
      seen.push(fresh.chain);
      if (seen.length < count) return;
      stop();
      resolve(seen);
    });
  });
}

describe("the workload's identity", () => {
  test("is renewed at half its life, give or take the jitter", () => {
    const received = new Date("2026-11-15T00:00:00Z");
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1000, max: 90 * 86_400_000 }),
        (random, lifeMs) => {
          const at = renewalTime(received, new Date(received.getTime() + lifeMs), { random: () => random });
          const share = (at.getTime() - received.getTime()) / lifeMs;
          expect(share).toBeGreaterThanOrEqual(0.48);
          expect(share).toBeLessThanOrEqual(0.52);
        },
      ),
    );
  });

  test("D04: keeps the old certificate while the CA is away, and asks until it is back", async () => {
    let asked = 0;
    const fetch = async (): Promise<WorkloadCredentials> => {
      asked++;
      if (asked === 2 || asked === 3) {
        expect(identity.current()?.chain).toBe("1");
        throw new Error("away");
      }
      return credentials(String(asked), 20);
    };
    const identity = createWorkloadIdentity({ ...base, fetch });
    const stop = new AbortController();
    const seen = collect(identity, 2);
    const running = identity.run(stop.signal).catch(() => {});
    expect(await seen).toEqual(["1", "4"]);
    stop.abort();
    await running;
    expect(identity.current()?.chain).toBe("4");
  });

  test("an answer that is expired already is not asked for in a storm", async () => {
    let asked = 0;
    const fetch = async (): Promise<WorkloadCredentials> => credentials(String(++asked), -1000);
    const identity = createWorkloadIdentity({ ...base, fetch });
    const stop = new AbortController();
    const start = performance.now();
    const seen = collect(identity, 4);
    const running = identity.run(stop.signal).catch(() => {});
    await seen;
    stop.abort();
    await running;
    expect(performance.now() - start).toBeGreaterThanOrEqual(250);
  });

  test("who is asked to come for a certificate comes, whatever is left of the one held, and also while on the way", async () => {
    let asked = 0;
    const fetch = async (): Promise<WorkloadCredentials> => {
      asked++;
      if (asked === 1) identity.renewSoon();
      return credentials(String(asked), 86_400_000);
    };
    const identity = createWorkloadIdentity({ ...base, random: () => 0, fetch });
    const stop = new AbortController();
    const [second, third] = [collect(identity, 2), collect(identity, 3)];
    const running = identity.run(stop.signal).catch(() => {});
    expect(await second).toEqual(["1", "2"]);
    identity.renewSoon();
    expect(await third).toEqual(["1", "2", "3"]);
    stop.abort();
    await running;
  });
});
