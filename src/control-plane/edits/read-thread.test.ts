import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createReadThread } from "./read-thread.ts";

const head = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  hosts:\n";

test("others have their turns while a large text is read", async () => {
  const objects = head + Array.from({ length: 50_000 }, (_, i) => `  - a${i}.example.com\n`).join("");
  let turns = 0;
  let isDone = false;
  const read = createReadThread()({ objects }).finally(() => {
    isDone = true;
  });
  for (; !isDone; turns++) await nextTurn();
  expect((await read)[0]).toMatchObject({ name: "VirtualService/default/a", object: { metadata: { name: "a" } } });
  expect(turns).toBeGreaterThan(100);
});

test.for([
  ["no YAML", `${head}${" - [\n".repeat(10_000)}`, "invalid"],
  ["no object", "---\n".repeat(10_000), "invalid"],
  ["more than an API takes", `${head}  - [${"a,".repeat(100_000)}a]`, "too-large"],
] as const)("a large text with %s is refused as a short one", async ([, objects, code]) => {
  await expect(createReadThread()({ objects })).rejects.toMatchObject({ code });
});
