import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findEnvoy, lacks } from "../../../test/require.ts";
import { ownerOf, silentLogger } from "../../lib/index.ts";
import { createEnvoyAdmin } from "./admin.ts";
import { adoptEnvoy, type EnvoyOptions, startEnvoy } from "./process.ts";
import { livingEnvoy, writeEnvoyRecord } from "./record.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fl-envoy-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** An agent in small: it starts Envoy, tells its process id, and waits. */
const parent = (): string => `
const { startEnvoy } = await import(${JSON.stringify(join(import.meta.dirname, "process.ts"))});
const none = () => {};
const log = { error: none, warn: none, info: none, debug: none, scope: () => log };
const envoy = await startEnvoy({ binary: ${JSON.stringify(findEnvoy())}, configFile: ${JSON.stringify(join(dir, "envoy.json"))}, proxyConfig: { concurrency: 1 }, ipv6Only: false, logLevel: "error", componentLogLevel: "", skipDeprecatedLogs: false, workDir: ${JSON.stringify(dir)}, sockets: "a1", env: process.env, log, writeLine: none });
console.log(envoy.pid);
setInterval(none, 1000);`;

/** One that nobody has waited for yet is dead. */
const alive = (pid: number): boolean => ownerOf(pid) !== undefined;

/** The Envoy that a killed agent has left. */
async function leaveEnvoy(): Promise<number> {
  writeFileSync(options().configFile, bootstrap("sidecar"));
  const agent = spawn(process.execPath, ["--input-type=module", "-e", parent()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [data] = await once(agent.stdout, "data");
  const pid = Number(String(data));
  const ended = once(agent, "exit");
  await expect.poll(() => livingEnvoy(dir)?.process.pid).toBe(pid);
  agent.kill("SIGKILL");
  await ended;
  expect(alive(pid)).toBe(true);
  return pid;
}

const bootstrap = (id: string): string =>
  JSON.stringify({
    node: { id, cluster: "test" },
    admin: { address: { pipe: { path: join(dir, "admin.sock") } } },
  });

const options = (): EnvoyOptions => ({
  binary: findEnvoy() ?? "",
  configFile: join(dir, "envoy.json"),
  proxyConfig: { concurrency: 1 },
  ipv6Only: false,
  logLevel: "error",
  componentLogLevel: "",
  skipDeprecatedLogs: false,
  workDir: dir,
  sockets: "a1",
  env: process.env,
  log: silentLogger,
  writeLine: () => {},
});

const recordFile = (): string => join(dir, "etc/istio/proxy/envoy.pid");
const admin = () => createEnvoyAdmin({ socketPath: join(dir, "admin.sock") });

describe.skipIf(lacks("envoy"))("D08: the Envoy that a killed agent has left", () => {
  test("is taken over by the next one; another bootstrap needs another Envoy", async () => {
    const pid = await leaveEnvoy();
    await expect.poll(() => admin().configFile().catch(String), { timeout: 60_000 }).toBe(options().configFile);
    const adopted = await adoptEnvoy(options(), admin());
    expect(adopted).toMatchObject({ pid, adopted: true });
    writeFileSync(options().configFile, bootstrap("another"));
    expect(await adoptEnvoy(options(), admin())).toBeUndefined();
    await adopted?.exited;
    expect(livingEnvoy(dir)).toBeUndefined();
  });

  test("is found where earlier agents wrote it down, and written down anew", async () => {
    const pid = await leaveEnvoy();
    renameSync(recordFile(), join(dir, "envoy.pid"));
    const adopted = await adoptEnvoy(options(), admin());
    expect(adopted?.pid).toBe(pid);
    expect(existsSync(recordFile())).toBe(true);
    adopted?.kill();
    await adopted?.exited;
    expect(existsSync(join(dir, "envoy.pid"))).toBe(false);
  });

  test("is ended where nobody wrote it down: two would share the ports", async () => {
    const pid = await leaveEnvoy();
    rmSync(recordFile());
    expect(await adoptEnvoy(options(), admin())).toBeUndefined();
    expect(alive(pid)).toBe(false);
  });

  test("is replaced where its admin says that it is another's", async () => {
    const pid = await leaveEnvoy();
    expect(await adoptEnvoy(options(), { configFile: async () => "/another/envoy.json" })).toBeUndefined();
    expect(alive(pid)).toBe(false);
  });

  test("is not confused with a process that has its number", async () => {
    const other = spawn("sleep", ["600"], { cwd: dir });
    try {
      await once(other, "spawn");
      const owner = ownerOf(other.pid ?? 0);
      if (!owner) throw new Error("it does not live");
      await writeEnvoyRecord(dir, { process: owner, version: "x", sockets: "a1", output: "" });
      expect(await adoptEnvoy(options(), admin())).toBeUndefined();
      expect(alive(owner.pid)).toBe(true);
      expect(livingEnvoy(dir)).toBeUndefined();
    } finally {
      other.kill("SIGKILL");
    }
  });
});

test("an Envoy that is not there is told by name, and leaves nothing behind", async () => {
  await expect(startEnvoy({ ...options(), binary: "/does/not/exist" })).rejects.toThrow("/does/not/exist");
});
