import { expect, test } from "vitest";
import { collectBytes } from "./index.ts";

test("pieces come together in order, and none of them is held", () => {
  const bytes = collectBytes();
  expect(bytes.whole().toString()).toBe("");
  const piece = Buffer.alloc(1);
  const text = "0123456789".repeat(2000);
  for (const letter of text) {
    // The same memory again and again, as a reader's may be.
    piece.write(letter);
    bytes.add(piece);
  }
  expect(bytes.size).toBe(text.length);
  expect(bytes.whole().toString()).toBe(text);
});
