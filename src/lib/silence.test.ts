import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLogger } from "./log.ts";
import { type SilenceLimits, watchSilence } from "./silence.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const limits: SilenceLimits = {
  periodMs: 1_000,
  answerMs: 4_000,
  warnMs: 8_000,
  replaceMs: 20_000,
  minQuestions: 3,
  startMs: 0,
};
const never = (): Promise<never> => new Promise(() => {});
const answer = async (): Promise<string> => "any answer, a refusal too";
const refuse = (): Promise<never> => Promise.reject(new Error("refused"));

function watch(ask: (deadline: AbortSignal) => Promise<unknown>, startMs = 0) {
  const said: string[] = [];
  const stop = new AbortController();
  let [verdict, ended]: [string | undefined, boolean] = [undefined, false];
  const options = {
    name: "the server",
    ...{ ask, limits: { ...limits, startMs }, signal: stop.signal },
    log: createLogger({ write: (line) => said.push(line), now: () => new Date(0) }),
  };
  const watching = watchSilence(options).then((text) => {
    [verdict, ended] = [text, true];
  });
  return { said: () => said.join("\n"), stop, watching, verdict: () => verdict, ended: () => ended };
}

test("one that answers is left alone", async () => {
  const { said, ended } = watch(answer);
  await vi.advanceTimersByTimeAsync(300_000);
  expect([said(), ended()]).toEqual(["", false]);
});

test("one that falls silent is spoken of once, and then given up", async () => {
  const { said, verdict } = watch(never);
  await vi.advanceTimersByTimeAsync(19_000);
  expect(said().match(/has not answered/g)).toHaveLength(1);
  expect(said()).toContain("the server has not answered for 10.0 s");
  expect(verdict()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(verdict()).toBe("the server has not answered for 20.0 s, and is replaced");
});

test("one answer ends a silence, and is told where the silence was", async () => {
  let now = never as () => Promise<unknown>;
  const { said, ended } = watch(() => now());
  await vi.advanceTimersByTimeAsync(12_000);
  now = answer;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(said()).toContain("the server answers again");
  now = never;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(ended()).toBe(false);
});

test("one that is starting has longer; once it has answered it is not", async () => {
  let now = never as () => Promise<unknown>;
  const { verdict } = watch(() => now(), 300_000);
  await vi.advanceTimersByTimeAsync(290_000);
  expect(verdict()).toBeUndefined();
  now = answer;
  await vi.advanceTimersByTimeAsync(10_000);
  now = never;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(verdict()).toContain("and is replaced");
});

test("one that never answers is given up too, when it had the time to start", async () => {
  const { verdict } = watch(never, 300_000);
  await vi.advanceTimersByTimeAsync(310_000);
  expect(verdict()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(verdict()).toBe("the server has not answered for 20.0 s, and is replaced");
});

test("who refuses at once is not counted as if it had been waited for", async () => {
  const { verdict } = watch(refuse);
  await vi.advanceTimersByTimeAsync(19_500);
  expect(verdict()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(verdict()).toBe("the server has not answered for 20.0 s, and is replaced");
});

test("time in which we did not run ourselves does not count", async () => {
  let [asked, skipMs] = [0, 0];
  const real = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => real() + skipMs);
  const { verdict } = watch(() => {
    asked++;
    // As if this process had been stopped for ten minutes.
    if (asked === 1) skipMs += 600_000;
    return refuse();
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toBeGreaterThan(5);
  expect(verdict()).toBeUndefined();
});

test("the end of what is watched ends the watch, also while an answer is awaited", async () => {
  let deadline: AbortSignal | undefined;
  const { stop, watching, verdict } = watch((signal) => {
    deadline = signal;
    return never();
  });
  await vi.advanceTimersByTimeAsync(1_500);
  stop.abort();
  await watching;
  expect(verdict()).toBeUndefined();
  expect(deadline?.aborted).toBe(true);
});
