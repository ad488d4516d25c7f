/** Watches are unique, ordered, complete and resumable, and reads linearisable, over crashes and forgotten events. */
import { describe, expect, test } from "vitest";
import { checkHistory } from "./check.ts";
import type { History, Operation, SeenEvent } from "./history.ts";
import { runHistory } from "./run.ts";

test.each([1, 2, 3])("the history of seed %d has no fault", async (seed) => {
  const history = await runHistory({ seed, operations: 30, crashes: seed === 2 ? 2 : seed % 2, historyLimit: 12 });
  expect(history.operations.length).toBeGreaterThan(40);
  expect(history.segments.length).toBeGreaterThan(2);
  expect(checkHistory(history)).toEqual([]);
});

describe("the checker finds", () => {
  const put = (version: number, at: number, more: Partial<Operation> = {}): Operation =>
    ({ type: "patch", key: "a", op: `o${version}`, asked: at, answered: at + 1, version, ...more }) as Operation;
  const event = (version: number, type: SeenEvent["type"] = "MODIFIED"): SeenEvent => ({
    at: 100,
    type,
    version: { key: "a", version, op: type === "DELETED" ? undefined : `o${version}` },
  });
  const base: readonly Operation[] = [put(2, 0, { type: "create" }), put(3, 10), put(4, 20)];
  const all = [event(2, "ADDED"), event(3), event(4)];
  const faultsOf = (history: Partial<History>): string =>
    checkHistory({ operations: base, segments: [{ start: 1, present: [], events: all }], ...history }).join("\n");

  test("nothing in a good one", () => {
    expect(faultsOf({})).toBe("");
  });
  test("nothing in a patch of what may have been created without an answer, and a fault in one of what was not", () => {
    const patched = (answered: number): string => {
      const create = put(2, 0, { type: "create", version: undefined, answered });
      return checkHistory({ operations: [create, put(3, 10)], segments: [] }).join("\n");
    };
    expect(patched(Number.POSITIVE_INFINITY)).toBe("");
    expect(patched(1)).toMatch(/a was not there/);
  });
  test.each<[string, Partial<History>, RegExp]>([
    [
      "an event that was left out",
      { segments: [{ start: 1, present: [], events: [all[0], all[2]] as SeenEvent[] }] },
      /3 was left out/,
    ],
    ["one that came twice", { segments: [{ start: 1, present: [], events: [...all, event(4)] }] }, /4 came after 4/],
    [
      "a wrong order",
      { segments: [{ start: 1, present: [], events: [event(2, "ADDED"), event(4), event(3)] }] },
      /3 came after 4/,
    ],
    [
      "a wrong type",
      { segments: [{ start: 1, present: [], events: [event(2), event(3), event(4)] }] },
      /was MODIFIED, not ADDED/,
    ],
    [
      "a bookmark ahead of its event",
      { segments: [{ start: 1, present: [], events: [all[0], event(3, "BOOKMARK"), all[1], all[2]] as SeenEvent[] }] },
      /3 came after 3/,
    ],
    ["a write that got an old version", { operations: [...base, put(3.5, 30)] }, /after 4 had been seen/],
    [
      "a stale read",
      {
        operations: [
          ...base,
          { type: "get", key: "a", asked: 30, answered: 31, found: { key: "a", version: 3, op: "o3" } },
        ],
      },
      /had replaced it/,
    ],
    [
      "a read that misses it",
      { operations: [...base, { type: "get", key: "a", asked: 30, answered: 31, found: undefined }] },
      /was not shown/,
    ],
    [
      "a list of the past",
      {
        operations: [
          ...base,
          { type: "list", asked: 30, answered: 31, version: 3, items: [{ key: "a", version: 3, op: "o3" }] },
        ],
      },
      /the list is of 3/,
    ],
    [
      "a list that misses a key",
      { operations: [...base, { type: "list", asked: 30, answered: 31, version: 4, items: [] }] },
      /was not shown/,
    ],
    [
      "an update of what was no longer there",
      { operations: [...base, put(5, 30, { type: "update", expected: 3 })] },
      /it replaced 3, but 4/,
    ],
    ["a create of what was there", { operations: [...base, put(5, 30, { type: "create" })] }, /was there already/],
    ["two contents of one version", { operations: [...base, put(4, 20, { op: "other" })] }, /version 4 is/],
  ])("%s", (_what, history, fault) => {
    expect(faultsOf(history)).toMatch(fault);
  });
});
