import { spawn } from "node:child_process";
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
