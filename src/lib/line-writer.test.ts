import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLineWriter } from "./line-writer.ts";

test("lines of one turn are written together, in order, and those of the next by themselves", async () => {
  const written: string[] = [];
  const lines = createLineWriter((text) => written.push(text));
  lines.write("a");
  lines.write("b");
  await setImmediate();
  lines.write("c");
  await setImmediate();
  expect(written).toEqual(["a\nb\n", "c\n"]);
});

test("a flush writes what waits, once", async () => {
  const written: string[] = [];
  const lines = createLineWriter((text) => written.push(text));
  lines.write("last words");
  lines.flush();
  await setImmediate();
  expect(written).toEqual(["last words\n"]);
});

test("a line that cannot wait comes behind those that do", () => {
  const written: string[] = [];
  const lines = createLineWriter((text) => written.push(text));
  lines.write("first");
  lines.writeNow("at once");
  expect(written).toEqual(["first\nat once\n"]);
});
