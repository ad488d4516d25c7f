/** `npm run chaos` told to end: nothing that it has started is left. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lacks } from "../require.ts";
import { stoppedStatus } from "../stop.ts";

function commandsWith(text: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return command.includes(text) ? [command.replaceAll("\0", " ")] : [];
      } catch {
        return [];
      }
    });
}

test.skipIf(lacks("root", "envoy", "iptables"))(
  "ended by SIGTERM while its mesh starts, it takes everything with it",
  { timeout: 180_000 },
  async () => {
    const flags = ["--only", "kill-agent", "--pairs", "0", "--old", "no-such-commit"];
    const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = once(child, "exit");
    let said = "";
    const dir = await new Promise<string>((resolve, reject) => {
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
        said += chunk;
        const [, found] = /^it runs in (.+)$/m.exec(said) ?? [];
        if (found) resolve(found);
      });
      ended.then(() => reject(new Error(`it ended by itself: ${said}`)));
    });
    expect(commandsWith(dir)).not.toEqual([]);
    child.kill("SIGTERM");
    expect((await ended)[0], said).toBe(stoppedStatus);
    expect(commandsWith(dir)).toEqual([]);
    expect(existsSync(dir)).toBe(false);
  },
);
