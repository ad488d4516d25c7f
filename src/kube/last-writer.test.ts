import { expect, test } from "vitest";
import { writerOf } from "./last-writer.ts";

const entry = (manager: string, time: string, more: object = {}) => ({ manager, operation: "Update", time, ...more });

test.each([
  [[entry("a", "2026-01-01T00:00:00Z"), entry("b", "2026-01-02T00:00:00Z")], "b"],
  [[entry("b", "2026-01-02T00:00:00Z"), entry("a", "2026-01-01T00:00:00Z")], "b"],
  [[entry("a", "2026-01-01T00:00:00Z"), entry("b", "2026-01-01T00:00:00Z")], "b"],
  [[entry("a", "2026-01-01T00:00:00Z"), entry("s", "2026-01-02T00:00:00Z", { subresource: "status" })], "a"],
  [[entry("", "2026-01-01T00:00:00Z")], undefined],
  [[null, 1, "x"], undefined],
  [undefined, undefined],
])("of %j it was the newest that is no status", (entries, manager) => {
  expect(writerOf(entries)?.manager).toBe(manager);
});

test("the same writer is the same thing, and a long name is cut", () => {
  const long = "x".repeat(10_000);
  expect(writerOf([entry("a", "1")])).toBe(writerOf([entry("a", "2")]));
  expect(writerOf([entry(long, "1")])?.manager).toHaveLength(128);
});
