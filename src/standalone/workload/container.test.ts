import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { FairleadError, ownerOf } from "../../lib/index.ts";
import { openJournal } from "../journal.ts";
import { createContainerLog } from "../log/container-log.ts";
import { startProcess } from "../processes.ts";
import { type Container, restartDelayMs, startContainer } from "./container.ts";
import type { ContainerStatus, RestartPolicy } from "./container-state.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-container-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));
const journal = openJournal(join(work, "run"), "test", ownerOf(process.pid) ?? { pid: process.pid, started: "" });

interface Seen {
  readonly container: Container;
  readonly told: readonly string[];
  until(holds: (status: ContainerStatus) => boolean): Promise<ContainerStatus>;
}

let count = 0;
function start(script: string, policy: RestartPolicy, probe = async (): Promise<void> => {}): Seen {
  const log = createContainerLog(join(work, `${count++}.log`), undefined);
  const told: string[] = [];
  const waiting = new Set<(status: ContainerStatus) => void>();
  const container = startContainer({
    name: "app",
    policy,
    start: () => startProcess({ file: "sh", args: ["-c", script], env: {}, output: log.open(), journal }),
    probe,
    lastLines: log.lastLines,
    changed: (status) => {
      for (const look of waiting) look(status);
    },
    tell: (_type, reason, message, details = "") => told.push(`${reason}: ${message}${details}`),
    now: () => new Date(),
    monotonicMs: () => performance.now(),
  });
  return {
    container,
    told,
    until: (holds) =>
      new Promise((resolve) => {
        const look = (status: ContainerStatus): void => {
          if (!holds(status)) return;
          waiting.delete(look);
          resolve(status);
        };
        waiting.add(look);
        look(container.status());
      }),
  };
}

describe("a container", () => {
  test("its first restart comes at once, each further one later, a minute at most", () => {
    expect([1, 2, 3, 4, 5, 20].map(restartDelayMs)).toEqual([0, 1_000, 2_000, 4_000, 8_000, 60_000]);
  });

  test("one that goes on failing waits longer, is counted, and shows its last words", async () => {
    const { container, told, until } = start("echo first; echo 'no such database' >&2; exit 3", "Always");
    const status = await until(({ state }) => state.kind === "waiting" && state.reason === "CrashLoopBackOff");
    expect(status).toMatchObject({ restarts: 1, ready: false, last: { exitCode: 3, signal: 0, reason: "Error" } });
    expect(status.last?.message).toContain("no such database");
    expect(told).toContain("BackOff: Back-off restarting failed container app");
    expect(told.find((line) => line.startsWith("Exited"))).toContain("no such database");
    await container.stop(1000);
  });

  test("a killed one is started again and ready again", async () => {
    const { container, until } = start("exec sleep 60", "Always");
    await until(({ ready }) => ready);
    const pid = container.running()?.pid ?? 0;
    process.kill(pid, "SIGKILL");
    const status = await until(({ ready, restarts }) => ready && restarts === 1);
    expect(status.last).toMatchObject({ exitCode: 137, signal: 9 });
    expect(container.running()?.pid).not.toBe(pid);
    await container.stop(1000);
    expect(container.status()).toMatchObject({ ready: false, state: { kind: "terminated", exitCode: 143 } });
  });

  test.each([
    ["Never", 0],
    ["Never", 4],
    ["OnFailure", 0],
  ] as const)("with %s it is not started again after it ended with %i", async (policy, code) => {
    const { container } = start(`exit ${code}`, policy);
    expect(await container.ended).toBe(code);
    expect(container.status().restarts).toBe(0);
  });

  test("one whose probe fails for a while is not ready, with the reason", async () => {
    let fails = false;
    const { container, told, until } = start("exec sleep 60", "Always", async () => {
      if (fails) throw new FairleadError("unavailable", "the port is closed");
    });
    await until(({ ready }) => ready);
    fails = true;
    expect(await until(({ ready }) => !ready)).toMatchObject({ problem: "the port is closed" });
    expect(told).toContain("Unhealthy: Readiness probe failed: the port is closed");
    fails = false;
    await until(({ ready }) => ready);
    await container.stop(1000);
  });
});

describe("the log of a container", () => {
  test("lines are followed, cut ones put together, and a long file is moved aside", async () => {
    const log = createContainerLog(join(work, "followed.log"), undefined);
    const lines: string[] = [];
    const stop = log.follow((line) => lines.push(line));
    const child = startProcess({
      file: "sh",
      args: ["-c", "printf 'one\\ntw'; sleep 0.05; printf 'o\\nthree'"],
      env: {},
      output: log.open(),
      journal,
    });
    await child.exited;
    await expect.poll(() => lines).toEqual(["one", "two"]);
    writeFileSync(log.path, "x".repeat(11 * 1024 * 1024), { flag: "a" });
    log.trim();
    expect(log.lastLines()).toBe("");
    writeFileSync(log.path, "four\n", { flag: "a" });
    stop();
    expect(lines.at(-1)).toContain("four");
  });
});
