import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createGate } from "./gate.ts";

/** Work that is told when it begins, and ends when it is told to. */
function workload(gate: ReturnType<typeof createGate>, count: number) {
  const begun: number[] = [];
  const ends = Array.from({ length: count }, () => Promise.withResolvers<void>());
  const all = ends.map(({ promise }, i) =>
    gate.run(async () => {
      begun.push(i);
      await promise;
    }),
  );
  return { begun, end: (i: number) => ends[i]?.resolve(), all: Promise.all(all) };
}

test("so much runs at once, the others in their order when there is room", async () => {
  const { begun, end, all } = workload(createGate({ atOnce: 2, perTurn: 10 }), 4);
  await nextTurn();
  expect(begun).toEqual([0, 1]);
  end(1);
  await nextTurn();
  expect(begun).toEqual([0, 1, 2]);
  for (const i of [0, 2, 3]) end(i);
  await all;
  expect(begun).toEqual([0, 1, 2, 3]);
});

test("in one turn so much is begun", async () => {
  const { begun, end, all } = workload(createGate({ atOnce: 100, perTurn: 3 }), 10);
  await Promise.resolve();
  expect(begun.length).toBe(3);
  while (begun.length < 10) {
    const before = begun.length;
    await nextTurn();
    expect(begun.length - before).toBeLessThanOrEqual(3);
  }
  for (let i = 0; i < 10; i++) end(i);
  await all;
});

test("work that fails makes room", async () => {
  const gate = createGate({ atOnce: 1, perTurn: 1 });
  await expect(gate.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await gate.run(async () => "yes")).toBe("yes");
});
