/** The sample application as a person starts it: real Envoys, namespaces and capture, proven by its own checks; and nothing left behind. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { planNetwork } from "../../src/standalone/index.ts";
import { lacks } from "../require.ts";
import { anyPort, fairlead, startFairlead } from "./fairlead.ts";

/** What is on the host because of this data folder: namespaces, devices and folders carry its prefix. */
function onHost(prefix: string): readonly string[] {
  const namespaces = spawnSync("ip", ["netns", "list"], { encoding: "utf8" }).stdout.split("\n");
  const links: { ifname: string }[] = JSON.parse(spawnSync("ip", ["-j", "link"], { encoding: "utf8" }).stdout);
  const folders = existingFolders("/run/fairlead");
  return [...namespaces, ...links.map((link) => link.ifname), ...folders]
    .filter((name) => name.startsWith(prefix))
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

  test("proves itself and leaves nothing behind", { timeout: 300_000 }, async () => {
    const { prefix } = planNetwork({ dataDir: realpathSync(data) });
    const { status, stdout, stderr } = await fairlead(["up", "--demo", "--check", "--data", data, ...anyPort]);
    expect(stdout, stderr).toContain("12 of 12 checks passed");
    expect(stdout).not.toContain("FAIL");
    expect(status, stderr).toBe(0);
    expect(onHost(prefix)).toEqual([]);
  });

  test("has nothing that `analyze` would change", { timeout: 300_000 }, async () => {
    const demo = startFairlead(["up", "--demo", "--data", data, ...anyPort]);
    try {
      await demo.until("ready\n");
      await expect.poll(demo.stderr, { timeout: 300_000, interval: 50 }).toContain("The sample application:");
      const analyzed = await fairlead(["analyze", "-A", "--kubeconfig", join(data, "kubeconfig")]);
      expect(analyzed.stdout.trim()).toBe("");
      expect(analyzed.stderr).toContain("No validation issues found when analyzing all namespaces");
    } finally {
      demo.child.kill("SIGTERM");
      await demo.exited;
    }
  });
});
