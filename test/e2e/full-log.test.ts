/** Output that a full disk does not take: /dev/full refuses every byte. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { anyPort } from "./fairlead.ts";

const entry = join(import.meta.dirname, "../../dist/main.js");
const full = openSync("/dev/full", "w");

test("a mesh goes on when nothing of its log can be written", async () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-full-log-"));
  const child = spawn(process.execPath, [entry, "up", "--data", data, ...anyPort], {
    stdio: ["ignore", "pipe", full],
  });
  const exited = once(child, "exit");
  const said = new Promise<string>((resolve) => child.stdout?.once("data", (chunk) => resolve(String(chunk))));
  const first = await Promise.race([said, exited.then(([code]) => `exit ${code}`)]);
  expect(first).toBe("ready\n");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  rmSync(data, { recursive: true, force: true });
});

test("an answer that cannot be written is a failure", () => {
  const { status, stderr } = spawnSync(process.execPath, [entry, "render", "--help"], {
    stdio: ["ignore", full, "pipe"],
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toContain("could not be written");
});
