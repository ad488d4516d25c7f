import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
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

  test("D04: a CA that is away until four fifths of a life are over is asked less and less often, and in time", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const lifeMs = 86_400_000;
    const begin = Date.now();
    const asked: number[] = [];
    const fetch = async (): Promise<WorkloadCredentials> => {
      asked.push(Date.now() - begin);
      if (asked.length === 1) return credentials("first", lifeMs);
      expect(identity.current()?.chain).toBe("first");
      if (Date.now() - begin < 0.8 * lifeMs) throw new Error("away");
      return credentials("second", lifeMs);
    };
    const { retry: _, ...defaults } = base;
    const identity = createWorkloadIdentity({ ...defaults, fetch });
    const stop = new AbortController();
    const running = identity.run(stop.signal).catch(() => {});
    await vi.advanceTimersByTimeAsync(0.8 * lifeMs + 30_000);
    expect(identity.current()?.chain).toBe("second");
    stop.abort();
    await running;

    const renewals = asked.slice(1);
    expect((renewals[0] ?? 0) / lifeMs).toBeCloseTo(0.5, 1);
    const waits = renewals.slice(1).map((at, i) => at - (renewals[i] ?? 0));
    // From half a second on each twice the one before, up to half a minute; at least half of that, so that not all come at once.
    for (const [i, waited] of waits.entries()) {
      const longestMs = Math.min(30_000, 500 * 2 ** i);
      expect(waited).toBeGreaterThanOrEqual(longestMs / 2 - 1);
      expect(waited).toBeLessThanOrEqual(longestMs + 1);
    }
    expect(waits.length).toBeGreaterThan(800);
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
