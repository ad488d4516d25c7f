import { expect, test } from "vitest";
import { FairleadError } from "../lib/index.ts";
import type { Journal } from "./journal.ts";
import { startProcess } from "./processes.ts";

/** As on a full disk. */
const fullJournal: Journal = {
  add() {
    throw new FairleadError("storage", "the disk is full");
  },
  remove: () => {},
  items: () => [],
  close: () => {},
};

test("a process that cannot be written down is ours all the same, and ends when we say so", async () => {
  const lines: string[] = [];
  const running = startProcess({
    file: "sh",
    args: ["-c", "echo here; exec sleep 60"],
    env: {},
    output: (text) => lines.push(text),
    journal: fullJournal,
  });
  await expect.poll(() => lines).toEqual(["here"]);
  await running.stop(5_000);
  expect(await running.exited).toBe("SIGTERM");
});
