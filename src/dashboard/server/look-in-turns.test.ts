import { expect, test } from "vitest";
import type { Change } from "../../read-api/index.ts";
import { lookInTurns } from "./look-in-turns.ts";

test("each difference is worked out in a turn of its own", async () => {
  let turn = 0;
  let ticking = setImmediate(function tick() {
    turn++;
    ticking = setImmediate(tick);
  });
  const looked: number[] = [];
  const changes = Array.from(
    { length: 200 },
    (_, id): Change => ({
      ...{ id, object: "VirtualService/a/b", namespace: "a", act: "changed", at: "" },
      get diff() {
        looked.push(turn);
        return [];
      },
    }),
  );
  await lookInTurns(changes);
  clearImmediate(ticking);
  expect(new Set(looked).size).toBe(changes.length);
});
