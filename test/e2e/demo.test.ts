/** The sample application as a person starts it: real Envoys, namespaces and capture, proven by its own checks; and nothing left behind. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { lacks } from "../require.ts";
import { anyPort, fairlead } from "./fairlead.ts";

/** What of ours is on the host: namespaces, devices and folders carry the prefix of the data folder. */
function onHost(): readonly string[] {
  const namespaces = spawnSync("ip", ["netns", "list"], { encoding: "utf8" }).stdout.split("\n");
  const links: { ifname: string }[] = JSON.parse(spawnSync("ip", ["-j", "link"], { encoding: "utf8" }).stdout);
  const folders = existingFolders("/run/fairlead");
  return [...namespaces, ...links.map((link) => link.ifname), ...folders]
    .filter((name) => /^fl[0-9a-f]{6}/.test(name))
    .sort();
}

function existingFolders(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

describe.skipIf(lacks("root", "envoy", "iptables"))("the demo", () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-demo-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  test("proves itself and leaves nothing behind", { timeout: 180_000 }, async () => {
    const before = onHost();
    const { status, stdout, stderr } = await fairlead(["up", "--demo", "--check", "--data", data, ...anyPort]);
    expect(stdout, stderr).toContain("12 of 12 checks passed");
    expect(stdout).not.toContain("FAIL");
    expect(status, stderr).toBe(0);
    expect(onHost()).toEqual(before);
  });
});
