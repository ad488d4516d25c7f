/** The preflight, on machines that lack something: real ones where a mount or another user makes them so. */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { preflight } from "../../scripts/preflight/checks.mjs";
import { createMachine } from "../../scripts/preflight/machine.mjs";
import { defaultAddresses, portChecks } from "../../scripts/preflight/ports.mjs";
import { formatFindings, missingCommand, planInstallation } from "../../scripts/preflight/report.mjs";
import { runCli } from "../../src/cli/testing.ts";
import { lacks } from "../require.ts";

const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "fairlead-preflight-"));
/** What a clone has before anything was brought: no packages, no bundle. */
const clone = join(work, "a clone");
const bare = { PATH: process.env["PATH"] ?? "", HOME: work, FAIRLEAD_NO_INSTALL: "1" };

beforeAll(() => {
  mkdirSync(join(clone, "src"), { recursive: true });
  for (const part of ["fairlead", "scripts", "package.json", "package-lock.json"])
    cpSync(join(root, part), join(clone, part), { recursive: true });
  // Other users must get at it.
  chmodSync(work, 0o755);
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

interface Ran {
  readonly status: number | null;
  readonly text: string;
}

function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Ran {
  const [program = "", ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: "utf8",
    cwd: clone,
    env: { ...bare, ...env },
  });
  return { status, text: stdout + stderr };
}

/** The same machine without what lies where Debian keeps ip and iptables. */
const withoutTools = (command: string): readonly string[] => [
  "unshare",
  "--mount",
  "sh",
  "-c",
  `mount -t tmpfs none /usr/sbin && exec ${command}`,
];

describe.skipIf(lacks("root"))("a machine without iptables", () => {
  test("the demo says so before anything is downloaded, with the one command to get them", () => {
    const { status, text } = run(withoutTools("./fairlead up --demo --api-addr 127.0.0.1:0"));
    expect(status).toBe(1);
    expect(text).toContain("× iptables-save is missing");
    expect(text).toMatch(/^Get what is missing: {2}apt-get update -qq && apt-get install -y -qq .* iptables$/m);
    expect(existsSync(join(clone, "node_modules"))).toBe(false);
    expect(existsSync(join(clone, ".cache"))).toBe(false);
  });

  test("as root they are installed, named and shown", () => {
    const bin = join(work, "bin");
    mkdirSync(bin, { recursive: true });
    const tools = ["ip", "iptables-save", "iptables-restore"].map((tool) => join(bin, tool)).join(" ");
    const stub = `#!/bin/sh\necho "$@" >> '${work}/apt.log'\n[ "$1" = update ] || { for f in ${tools}; do echo '#!/bin/sh' > $f; chmod +x $f; done; }\n`;
    writeFileSync(join(bin, "apt-get"), stub, { mode: 0o755 });
    const env = { PATH: `${bin}:${bare.PATH}`, FAIRLEAD_NO_INSTALL: "" };
    const { status, text } = run(withoutTools("node scripts/preflight/main.mjs demo --api-addr 127.0.0.1:0"), env);
    expect(text).toMatch(/missing on this machine: .*iptables$/m);
    const [, installed = ""] = readFileSync(join(work, "apt.log"), "utf8").split("\n");
    expect(installed).toMatch(/^install -y -qq --no-install-recommends .*iptables$/);
    expect(text).toContain(`fairlead set-up: apt-get ${installed}\n`);
    expect(text).not.toContain("×");
    expect(status).toBe(0);
  });

  test("check --pre lists everything and ends with 1", () => {
    const { status, text } = run(withoutTools("./fairlead check --pre"));
    expect(status).toBe(1);
    expect(text).toMatch(/^machine\n-------\n√ Linux on /);
    expect(text).toContain("Status check results are ×");
  });
});

describe.skipIf(lacks("root"))("a user without root", () => {
  // A user who has no range of users to map.
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

  test("npm start says at once to use sudo, in the words to type", () => {
    const start = [...nobody, process.execPath, "scripts/start.mjs", "--check", "--data", "/tmp/my data"];
    const { status, text } = run(start, { npm_lifecycle_event: "start" });
    expect(status).toBe(1);
    expect(text).toContain("× root\n");
    expect(text).toMatch(/sudo (env "PATH=\$PATH" )?npm start -- --check --data '\/tmp\/my data'/);
    expect(existsSync(join(clone, "node_modules"))).toBe(false);
  });

  test("a folder of root's is named, with the command that gives it back", () => {
    const data = join(work, "root's");
    mkdirSync(data, { mode: 0o700 });
    const { text } = run([...nobody, process.execPath, "scripts/preflight/main.mjs", "demo", "--data", data]);
    expect(text).toContain(`sudo chown -R "$(id -un)" '${work}/root'\\''s'`);
  });
});

test("a port that is taken is named, with whose it is", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const findings = await portChecks(createMachine(process.env), ["--api-addr", `127.0.0.1:${port}`]);
  server.close();
  expect(findings[0]).toMatchObject({ state: "error", remedy: expect.stringContaining("--api-addr 127.0.0.1:0") });
  expect(findings[0]?.detail).toContain(`by process ${process.pid}`);
});

test("the addresses that are looked at are those of `up`", async () => {
  const { stdout } = await runCli(["up", "--help"]);
  const shown = [...stdout.replace(/\n +/g, " ").matchAll(/(--[\w-]*[aA]ddr) <addr> .*?\(default: "([^"]+)"\)/g)];
  expect(new Map(shown.map(([, flag = "", address = ""]) => [flag, address]))).toEqual(defaultAddresses);
});

test("other systems' package managers are spoken to in their own words", async () => {
  const machine = createMachine({ PATH: "", HOME: work });
  const only = (program: string) => ({
    ...machine,
    uid: 1000,
    find: (name: string) => (name === program ? "/x" : undefined),
  });
  const command = async (manager: string) =>
    missingCommand(only(manager), await preflight(only(manager), { purpose: "test", root }));
  expect(await command("dnf")).toBe(
    "sudo dnf install -y -q --setopt=install_weak_deps=False iproute iptables-nft util-linux nftables openssl chromium kubernetes-client",
  );
  expect(await command("apk")).toBe(
    "sudo apk add --no-cache -q iproute2 iptables util-linux setpriv nftables openssl chromium kubectl",
  );
  expect(await command("none")).toMatch(/^install iproute2, iptables, .* with your system's package manager$/);
});

test("a full disk, an old Node and musl are told", async () => {
  const machine = { ...createMachine(process.env), freeBytes: () => 1024, nodeVersion: "22.1.0", musl: true };
  const findings = await preflight(machine, { purpose: "test", root });
  const text = formatFindings(findings, undefined);
  expect(text).toContain("only 0 MB are free");
  expect(text).toContain("× Node 24 or newer");
  expect(planInstallation(machine, [])).toBeUndefined();
});
