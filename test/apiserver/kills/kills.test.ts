/** A process that writes to the store is killed at every step of a write; nothing acknowledged is lost, nothing is torn. */
import { expect, test } from "vitest";
import { killMany } from "./run.ts";

test("fifteen kills, three at each step", () => {
  const report = killMany(15, 3);
  expect(report.faults).toEqual([]);
  expect(report.byPoint).toEqual({ before: 3, middle: 3, written: 3, synced: 3, acknowledged: 3 });
  expect(report.acknowledged).toBeGreaterThan(50);
}, 300_000);
