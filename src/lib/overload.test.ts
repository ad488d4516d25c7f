import { describe, expect, test } from "vitest";
import { createLogger } from "./log.ts";
import { createOverload, descriptorLimit } from "./overload.ts";

function overloadOf(limit: number) {
  const [lines, begun]: [string[], string[]] = [[], []];
  const at = { share: 0, ms: 0 };
  const overload = createOverload({
    heap: { limitBytes: 2 ** 20, share: () => at.share, close() {} },
    descriptorLimit: limit,
    log: createLogger({ write: (line) => lines.push(line), now: () => new Date(0) }),
    monotonicMs: () => at.ms,
  });
  overload.onBegin((cause) => begun.push(cause));
  return { overload, lines, begun, at };
}

describe("memory", () => {
  test("is short from 85 % on, and enough again only below 80 %", () => {
    const { overload, at } = overloadOf(1024);
    const seen = [0.84, 0.85, 0.81, 0.79, 0.84].map((share) => {
      at.share = share;
      return overload.shortOfMemory;
    });
    expect(seen).toEqual([false, true, true, false, false]);
  });
});

describe("descriptors", () => {
  test.each([
    [256, 100, "enough"],
    [256, 191, "enough"],
    [256, 192, "few"],
    [256, 239, "few"],
    [256, 240, "none"],
    [20_000, 19_700, "enough"],
    [20_000, 19_990, "none"],
    [Number.POSITIVE_INFINITY, 1e6, "enough"],
  ] as const)("of %d, the one with number %d leaves %s", (limit, descriptor, left) => {
    expect(overloadOf(limit).overload.descriptorsAfter(descriptor)).toBe(left);
  });

  test("how many there may be is read from the system", () => {
    expect(descriptorLimit()).toBeGreaterThan(10);
    expect(descriptorLimit("/no/such/file")).toBe(Number.POSITIVE_INFINITY);
  });
});

test("refusals are counted each, and told once while they go on", () => {
  const { overload, lines, begun, at } = overloadOf(256);
  for (let i = 0; i < 50; i++) {
    at.ms += 10_000;
    overload.refuse("connection", "descriptors");
  }
  overload.refuse("stream", "memory");
  expect(overload.refusals()).toEqual([
    { what: "connection", cause: "descriptors", count: 50 },
    { what: "stream", cause: "memory", count: 1 },
  ]);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/descriptors run out \(at most 256\).*ulimit -n/);
  expect(lines[1]).toMatch(/heap of 1 MB.*--max-old-space-size/);
  at.ms += 60_001;
  overload.refuse("connection", "descriptors");
  expect(begun).toEqual(["descriptors", "memory", "descriptors"]);
});
