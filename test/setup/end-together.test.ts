/** What a script has started ends with it, also where only the shell between npm and the script is told to end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const helper = pathToFileURL(join(import.meta.dirname, "../../scripts/end-together.mjs")).href;
let dir: string;
let shell: ChildProcess;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fairlead-end-"));
  writeFileSync(join(dir, "mesh.mjs"), 'console.log("up"); setInterval(() => {}, 1000);');
  writeFileSync(
    join(dir, "script.mjs"),
    `import { spawn } from "node:child_process";
import { endTogether } from ${JSON.stringify(helper)};
endTogether(spawn(process.execPath, [${JSON.stringify(join(dir, "mesh.mjs"))}], { stdio: "inherit" }));`,
  );
});
afterEach(() => {
  // Its group: whatever is left of it.
  try {
    process.kill(-(shell.pid ?? Number.NaN), "SIGKILL");
  } catch {
    // All have ended.
  }
  rmSync(dir, { recursive: true });
});

test.each(["SIGTERM", "SIGKILL"] as const)("after %s to the shell nothing is left", async (signal) => {
  // What follows keeps the shell from becoming the script itself.
  shell = spawn("sh", ["-c", '"$0" "$1"; true', process.execPath, join(dir, "script.mjs")], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const { stdout } = shell;
  if (!stdout) throw new Error("no output");
  await once(stdout, "data");
  const closed = once(stdout.resume(), "close");
  shell.kill(signal);
  // All three have it: it is closed when the last of them is gone.
  await closed;
  expect(shell.signalCode).toBe(signal);
});
