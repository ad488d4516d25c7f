import { expect, test } from "vitest";
import { createPace } from "./pace.ts";

test("after the burst there are no more than so many a second", async () => {
  const began = performance.now();
  const pace = createPace(100, new AbortController().signal);
  for (let i = 0; i < 1000; i++) expect(pace()).toBeUndefined();
  for (let i = 0; i < 20; i++) await pace();
  expect(performance.now() - began).toBeGreaterThan(190);
});
