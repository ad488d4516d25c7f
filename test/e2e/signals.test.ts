/** Signals, sent to the front door alone: what was started ends with it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { anyPort, startFairlead } from "./fairlead.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-signals-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

test.each<readonly NodeJS.Signals[]>([["SIGINT"], ["SIGINT", "SIGINT"], ["SIGHUP"]])(
  "%s %s to ./fairlead stops the mesh behind it in good order",
  { timeout: 300_000 },
  async (...signals) => {
    const script = join(import.meta.dirname, "../../fairlead");
    const child = spawn(script, ["up", "--data", join(work, "mesh"), ...anyPort], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    try {
      expect(String(await once(child.stdout, "data"))).toBe("ready\n");
      for (const signal of signals.filter((one) => typeof one === "string")) child.kill(signal);
      expect(await once(child, "exit")).toEqual([0, null]);
    } finally {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }
  },
);

test("a command that only asks ends at once, whoever keeps it waiting", { timeout: 300_000 }, async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  const kubeconfig = join(work, "kubeconfig");
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const asking = startFairlead(["get", "pods"], { KUBECONFIG: kubeconfig });
  await once(silent, "connection");
  asking.child.kill("SIGINT");
  expect(await asking.exited).toBe("SIGINT");
  for (const socket of sockets) socket.destroy();
  silent.close();
});
