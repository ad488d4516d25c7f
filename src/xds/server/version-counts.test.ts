import { expect, test } from "vitest";
import { noMetrics } from "../metrics.ts";
import { createVersionCounts } from "./version-counts.ts";

test("proxies are counted by version, and however many versions they make up there are few", () => {
  const told = new Map<string, number>();
  const counts = createVersionCounts({
    ...noMetrics,
    set: (_name, value, labels) => void told.set(labels?.version ?? "none", value),
  });
  const gone = counts.add("1.32.0");
  counts.add("1.32.0");
  counts.add("1.30.1");
  counts.add(undefined);
  counts.add('1"} 7\nx');
  counts.add({ deep: 1 });
  gone();
  expect(Object.fromEntries(told)).toEqual({ "1.32.0": 1, "1.30.1": 1, "": 1, other: 2 });
  for (let i = 0; i < 1000; i++) counts.add(`1.99.${i}`);
  expect(told.size).toBeLessThan(40);
  expect([...told.values()].reduce((a, b) => a + b, 0)).toBe(1005);
});
