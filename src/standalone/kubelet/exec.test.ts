import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { runCommand, type Spawn } from "./exec.ts";
import { createResizer } from "./terminal.ts";

const direct: Spawn = ([file = "", ...args]) => spawn(file, args, { stdio: "pipe", detached: true });

async function run(command: readonly string[]): Promise<{ readonly status: unknown; readonly out: string }> {
  const stdout = new PassThrough();
  const out = text(stdout);
  let status: unknown;
  const finish = async (how: object): Promise<void> => {
    status = how;
    stdout.end();
  };
  const streams = {
    stdin: undefined,
    stdout,
    stderr: undefined,
    resized: () => {},
    signal: new AbortController().signal,
  };
  const wanted = { stdin: false, stdout: true, stderr: false, tty: false };
  await runCommand(direct, command, { ...streams, finish }, wanted);
  return { status, out: await out };
}

test("a command that cannot be started is told so, and the next one is run", async () => {
  for (const command of [["a\0b"], ["echo", "a\0b"], ["/no/such/command"]])
    expect((await run(command)).status).toMatchObject({
      status: "Failure",
      message: expect.stringContaining("cannot start"),
    });
  expect(await run(["echo", "a"])).toMatchObject({ status: { status: "Success" }, out: "a\n" });
});

/** Not those that only wait for somebody to take note of their end. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("with its client goes all that a command has started, also what is in a session of its own", async () => {
  const [gone, stdout] = [new AbortController(), new PassThrough()];
  const streams = { stdin: undefined, stdout, stderr: undefined, resized: () => {}, signal: gone.signal };
  const wanted = { stdin: false, stdout: true, stderr: false, tty: false };
  const script = `const { spawn } = require("node:child_process");
    const { pid } = spawn("sleep", ["100"], { detached: true, stdio: "ignore" });
    console.log("pid=" + pid + ".");
    setInterval(() => {}, 1000);`;
  const finish = async (): Promise<void> => {};
  const done = runCommand(direct, [process.execPath, "-e", script], { ...streams, finish }, wanted);
  const said = String((await once(stdout, "data"))[0]);
  const pid = Number(/pid=(\d+)\./.exec(said)?.[1]);
  expect(isRunning(pid)).toBe(true);
  gone.abort();
  await done;
  await expect.poll(() => isRunning(pid)).toBe(false);
});

test("of the sizes that come while one is being set, the last one is set next", async () => {
  const set: number[] = [];
  let done = Promise.withResolvers<void>();
  const resize = createResizer(({ rows }) => {
    set.push(rows);
    done = Promise.withResolvers();
    return done.promise;
  });
  for (let rows = 1; rows <= 1000; rows++) resize({ rows, columns: 80 });
  expect(set).toEqual([1]);
  done.resolve();
  await expect.poll(() => set).toEqual([1, 1000]);
  done.resolve();
});
