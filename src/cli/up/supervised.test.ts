import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createLogger, ownerOf, type SilenceLimits } from "../../lib/index.ts";
import { openJournal } from "../../standalone/index.ts";
import { type Supervised, supervise } from "./supervised.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-supervised-"));
const running: Supervised[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) await child.stop();
  rmSync(work, { recursive: true, force: true });
});

/** Serves on the port that it is given, says so in its file, and prints a line; its further lives begin slowly. */
const script = `
  const [file, port, slowMs] = process.argv.slice(1);
  const server = require("node:http").createServer((_, answer) => answer.end("alive"));
  const listen = () => server.listen(Number(port), "127.0.0.1", () => {
    console.log("I live");
    require("node:fs").writeFileSync(file, JSON.stringify({ http: "127.0.0.1:" + server.address().port }));
  });
  setTimeout(listen, port === "0" ? 0 : Number(slowMs));
`;

async function start(limits: SilenceLimits, { slowMs = 0, serves = true }: { slowMs?: number; serves?: boolean } = {}) {
  const boundFile = join(work, "bound.json");
  let heard = 0;
  const [lines, said]: [string[], string[]] = [[], []];
  const lives: number[] = [];
  const child = await supervise({
    name: "the server",
    command: (bound) => {
      const port = bound?.get("http")?.split(":")[1] ?? "0";
      return [process.execPath, "-e", script, boundFile, port, String(slowMs)];
    },
    env: {},
    boundFile,
    logFile: join(work, "server.log"),
    line: (text) => lines.push(text),
    ask: async (bound, deadline) => {
      await fetch(`http://${bound.get("http")}/`, { signal: deadline });
      heard++;
      return serves;
    },
    journal: openJournal(work, "test", ownerOf(process.pid) ?? { pid: process.pid, started: "" }),
    log: createLogger({ write: (line) => said.push(line), now: () => new Date() }),
    random: () => 0,
    signal: new AbortController().signal,
    restarted: (pid) => lives.push(pid),
    limits,
    steadyMs: 0,
  });
  running.push(child);
  const answers = () =>
    fetch(`http://${child.addresses.get("http")}/`).then(
      (answer) => answer.text(),
      () => "",
    );
  /** Kills it again and again, each time once it was heard; the waits that were told. */
  const killOften = async (times: number): Promise<readonly number[]> => {
    for (let i = 1; i <= times; i++) {
      heard = 0;
      await expect.poll(() => heard, { timeout: 300_000 }).toBeGreaterThan(0);
      process.kill(child.pid(), "SIGKILL");
      await expect.poll(() => lives.length, { timeout: 300_000 }).toBe(i);
    }
    return said.flatMap((line) => [...line.matchAll(/again in (\d+) ms/g)].map(([, ms]) => Number(ms)));
  };
  return { child, lines, said, lives, answers, killOften };
}

const never = { periodMs: 60_000, answerMs: 60_000, warnMs: 1e9, replaceMs: 1e9, minQuestions: 1, startMs: 0 };

test("one that is killed is started again at the same address, and counted", async () => {
  const { child, lives, answers, said } = await start(never);
  const first = child.pid();
  process.kill(first, "SIGKILL");
  await expect.poll(() => lives.length, { timeout: 300_000 }).toBe(1);
  await expect.poll(answers, { timeout: 300_000 }).toBe("alive");
  expect(child.pid()).not.toBe(first);
  expect(child.restarts()).toBe(1);
  expect(said.join("\n")).toContain("the server ended with SIGKILL; starting it again");
});

test("one that hangs is spoken of, and replaced", async () => {
  const { child, lives, answers, said } = await start({
    ...{ periodMs: 50, answerMs: 100, warnMs: 150, replaceMs: 600, minQuestions: 2, startMs: 0 },
  });
  const first = child.pid();
  process.kill(first, "SIGSTOP");
  await expect.poll(() => lives.length, { timeout: 300_000 }).toBeGreaterThan(0);
  await expect.poll(answers, { timeout: 300_000 }).toBe("alive");
  const text = said.join("\n");
  expect(text).toMatch(/the server has not answered for 0\.\d s\n/);
  expect(text).toContain("and is replaced");
});

test("one that takes its time to start refuses meanwhile, and is not taken for one that hangs", async () => {
  const { child, lives, answers, said } = await start(
    { periodMs: 20, answerMs: 2_000, warnMs: 1e9, replaceMs: 60_000, minQuestions: 1, startMs: 0 },
    { slowMs: 1_500 },
  );
  process.kill(child.pid(), "SIGKILL");
  await expect.poll(answers).toBe("alive");
  expect(lives.length).toBe(1);
  expect(said.join("\n")).not.toContain("replaced");
});

const curious = { ...never, periodMs: 20 };

test("one that has served is started again at once, however often it was killed", async () => {
  const { killOften } = await start(curious);
  expect(await killOften(4)).toEqual([50, 50, 50, 50]);
});

test("one that ends before it serves is waited for longer each time", async () => {
  const { killOften } = await start(curious, { serves: false });
  expect(await killOften(4)).toEqual([50, 100, 200, 400]);
});

test("its output is in a file and passed on line by line", async () => {
  const { lines } = await start(never);
  await expect.poll(() => lines).toEqual(["I live"]);
  expect(readFileSync(join(work, "server.log"), "utf8")).toBe("I live\n");
});
