import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { deadPages, type Leftover, openJournal } from "./journal.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-journal-"));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const gone = { pid: 2 ** 22 - 1, started: "1" };

test("what a dead owner wrote down is read back", () => {
  const items: readonly Leftover[] = [
    { kind: "device", name: "fl0a1b2ch" },
    { kind: "namespace", name: "fl0a1b2c-bridge" },
    { kind: "namespace", name: "fl0a1b2c-0123456789" },
    { kind: "folder", path: "/run/fairlead/fl0a1b2c-42" },
    { kind: "folder", path: "/run/fairlead/fl0a1b2c-42/pods/0123456789" },
    { kind: "process", process: { pid: 4242, started: "17" } },
  ];
  const journal = openJournal(dir, "up-1", gone);
  for (const item of items) journal.add(item);
  expect(deadPages(dir).map((page) => page.items)).toEqual([items]);
});

test("a page cannot name what is not ours", () => {
  openJournal(dir, "up-1", gone).add({ kind: "device", name: "fl0a1b2ch" });
  const items = [
    { kind: "folder", path: "/etc" },
    { kind: "folder", path: "/run/fairlead/fl0a1b2c-42/../../../etc" },
    { kind: "folder", path: "/run/fairlead/fl0a1b2c-42/pods/../../../../etc" },
    { kind: "device", name: "eth0" },
    { kind: "namespace", name: "cni-1234" },
    { kind: "process", process: { pid: -1, started: "1" } },
    { kind: "process", process: { pid: 1, started: "1" } },
    { kind: "process" },
    "junk",
    null,
  ];
  writeFileSync(join(dir, "up-1.json"), JSON.stringify({ owner: gone, items }));
  expect(deadPages(dir).map((page) => page.items)).toEqual([[]]);
});

test.skipIf(lacks("root"))("on a full disk nothing new is begun, and what was made is struck out all the same", () => {
  mkdirSync(dir, { recursive: true });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16k", "tmpfs", dir]);
  expect(mounted.status).toBe(0);
  try {
    const item: Leftover = { kind: "namespace", name: "fl0a1b2c-bridge" };
    const journal = openJournal(dir, "up-1", gone);
    journal.add(item);
    expect(() => writeFileSync(join(dir, "filler"), Buffer.alloc(64 * 1024))).toThrow("ENOSPC");
    expect(() => journal.add({ kind: "device", name: "fl0a1b2ch" })).toThrow("the disk is full");
    journal.remove(item);
    expect(journal.items()).not.toContain(item);
    journal.close();
  } finally {
    spawnSync("umount", [dir]);
  }
});
