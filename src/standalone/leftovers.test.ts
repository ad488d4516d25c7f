import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { isAlive, type Owner, ownerOf, silentLogger } from "../lib/index.ts";
import { deadPages, livingOwners, openJournal, runnerJournal } from "./journal.ts";
import { endJournal, removeAtEnd, removeLeftovers } from "./leftovers.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-journal-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** A process that is gone, with the time at which it started. */
async function deadOwner(): Promise<Owner> {
  const child = spawn("sleep", ["30"]);
  const owner = ownerOf(child.pid ?? 0);
  child.kill("SIGKILL");
  await new Promise((resolve) => child.on("close", resolve));
  if (!owner) throw new Error("no owner");
  return owner;
}

const self = (): Owner => ownerOf(process.pid) ?? { pid: process.pid, started: "" };

describe.skipIf(lacks("root"))("leftovers", () => {
  test("an owner is its id and its start: a reused id is another", () => {
    expect(isAlive(self())).toBe(true);
    expect(isAlive({ ...self(), started: "1" })).toBe(false);
  });

  test("leftovers of dead owners go; what a living owner has stays", async () => {
    const dir = join(work, "run");
    // Only folders below the runtime folder are ever removed.
    const [left, kept] = ["left", "kept"].map((name) =>
      join("/run/fairlead", `fl00000${name === "left" ? 1 : 2}-${process.pid}`),
    ) as [string, string];
    for (const folder of [left, kept]) mkdirSync(folder, { recursive: true });
    openJournal(dir, "dead", await deadOwner()).add({ kind: "folder", path: left });
    const mine = openJournal(dir, "mine", self());
    mine.add({ kind: "folder", path: kept });
    expect(deadPages(dir)).toHaveLength(1);
    expect(livingOwners(dir).map((owner) => owner.pid)).toEqual([process.pid]);
    expect(await removeLeftovers(dir, silentLogger)).toBe(1);
    expect([existsSync(left), existsSync(kept)]).toEqual([false, true]);
    expect(await removeLeftovers(dir, silentLogger)).toBe(0);
    await endJournal(mine);
    expect(existsSync(kept)).toBe(false);
    expect(livingOwners(dir)).toEqual([]);
  });

  test("a process that a dead owner left is ended, one that only has its id is not", async () => {
    const dir = join(work, "processes");
    const child = spawn("sleep", ["60"], { detached: true });
    const ended = new Promise((resolve) => child.on("close", (_code, signal) => resolve(signal)));
    const process = ownerOf(child.pid ?? 0) ?? { pid: 0, started: "" };
    const journal = openJournal(dir, "dead", await deadOwner());
    journal.add({ kind: "process", process: { ...process, started: "1" } });
    await removeLeftovers(dir, silentLogger);
    expect(isAlive(process)).toBe(true);
    openJournal(dir, "again", await deadOwner()).add({ kind: "process", process });
    await removeLeftovers(dir, silentLogger);
    expect(await ended).toBe("SIGKILL");
  });

  test("what a dead runner left stays for as long as others live, and goes with the last of them", async () => {
    const dir = join(work, "runners");
    const folder = (n: number): string => join("/run/fairlead", `fl00001${n}-${process.pid}`);
    const [runner, up] = [await deadOwner(), await deadOwner()];
    for (const [name, owner, path] of [
      [runnerJournal(runner.pid), runner, folder(1)],
      [`up-${up.pid}`, up, folder(2)],
    ] as const) {
      mkdirSync(path, { recursive: true });
      openJournal(dir, name, owner).add({ kind: "folder", path });
    }
    const there = (): readonly boolean[] => [folder(1), folder(2)].map((path) => existsSync(path));
    const living = openJournal(dir, runnerJournal(process.pid), self());
    await removeAtEnd(dir, silentLogger);
    expect(there()).toEqual([true, false]);
    await endJournal(living);
    await removeAtEnd(dir, silentLogger);
    expect(there()).toEqual([false, false]);
  });

  test("a page that was cut short says nothing and harms nobody", async () => {
    const dir = join(work, "torn");
    mkdirSync(dir);
    writeFileSync(join(dir, "torn.json"), '{"owner":{"pid":');
    expect(await removeLeftovers(dir, silentLogger)).toBe(0);
  });
});
