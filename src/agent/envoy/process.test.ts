import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findEnvoy, lacks } from "../../../test/require.ts";
import { silentLogger } from "../../lib/index.ts";
import { adoptEnvoy, startEnvoy } from "./process.ts";
import { livingEnvoy } from "./record.ts";

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

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test.skipIf(lacks("envoy"))(
  "D08: an agent that is killed leaves its Envoy, and the next one takes it over; another bootstrap needs another Envoy",
  async () => {
    writeFileSync(join(dir, "envoy.json"), "{}");
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
    const options = {
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
    };
    const adopted = await adoptEnvoy(options);
    expect(adopted?.pid).toBe(pid);
    writeFileSync(join(dir, "envoy.json"), '{"node": {"id": "another"}}');
    expect(await adoptEnvoy(options)).toBeUndefined();
    await adopted?.exited;
    expect(livingEnvoy(dir)).toBeUndefined();
  },
  20_000,
);

test("an Envoy that is not there is told by name, and leaves nothing behind", async () => {
  const options = {
    configFile: "x",
    proxyConfig: {},
    ipv6Only: false,
    logLevel: "",
    componentLogLevel: "",
    skipDeprecatedLogs: false,
    workDir: dir,
    sockets: "a1",
    env: {},
    log: silentLogger,
  };
  await expect(startEnvoy({ ...options, binary: "/does/not/exist", writeLine: () => {} })).rejects.toThrow(
    "/does/not/exist",
  );
});
