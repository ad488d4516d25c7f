/** The sample application as a person starts it: real Envoys, namespaces and capture, proven by its own checks; and nothing left behind. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findEnvoy, lacks } from "../require.ts";

const root = join(import.meta.dirname, "../..");
const anyPort = [
  "--api-addr",
  "--grpcAddr",
  "--secureGRPCAddr",
  "--monitoringAddr",
  "--httpsAddr",
  "--httpAddr",
  "--gateway-addr",
].flatMap((flag) => [flag, "127.0.0.1:0"]);

function fairlead(args: readonly string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, "dist/main.js"), ...args], {
      env: { ...process.env, FAIRLEAD_ENVOY: findEnvoy() ?? "" },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}

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
