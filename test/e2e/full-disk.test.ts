/** A data folder without room: what dies comes back to it, and goes on from where it was once there is room again. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createKubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { lacks } from "../require.ts";
import { addressesOf, anyPort, startFairlead } from "./fairlead.ts";

const limits = { timeout: 300_000 };
const { configMaps } = kubeKinds;
const configMap = (name: string, text: string) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap" },
  metadata: { name, namespace: "default" },
  data: { text },
});

/** To the last byte of the last block. */
function fill(file: string): void {
  for (const size of [1 << 20, 1 << 12])
    expect(() => {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: "a" });
    }).toThrow("ENOSPC");
}

const parts = ["apiPid", "controlPlanePid", "edgePid"] as const;

test.skipIf(lacks("root", "iptables"))("what dies on a full disk comes back to it", limits, async () => {
  const disk = mkdtempSync(join(tmpdir(), "fairlead-full-disk-"));
  const data = join(disk, "mesh");
  expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", disk]).status).toBe(0);
  const mesh = startFairlead(["up", "--data", data, ...anyPort]);
  try {
    await mesh.until("ready\n");
    const api = createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
    await api.create(configMaps, configMap("before", "x"));
    const before = addressesOf(data);
    fill(join(disk, "filler"));

    for (const part of parts) process.kill(Number(before[part]), "SIGKILL");
    const ready = () =>
      fetch(`http://${before.http}/ready`).then(
        ({ status }) => status,
        () => 0,
      );
    const find = (name: string) =>
      api.find(configMaps, { name, namespace: "default" }).then(
        (found) => found?.metadata.name,
        () => "away",
      );
    await expect.poll(() => mesh.stderr().match(/ended with SIGKILL; starting/g), limits).toHaveLength(parts.length);
    await expect.poll(() => find("before"), limits).toBe("before");
    await expect.poll(ready, limits).toBe(200);
    // The store has some room of its own, taken or freed before: more than that does not fit.
    const large = Array.from({ length: 8 }, (_, i) => configMap(`large-${i}`, "x".repeat(500_000)));
    const refused: string[] = [];
    for (const one of large) await api.create(configMaps, one).catch((error: unknown) => refused.push(String(error)));
    expect(refused.length).toBeGreaterThan(0);
    for (const text of refused) expect(text).toContain("cannot be written: ENOSPC");

    rmSync(join(disk, "filler"));
    await api.create(configMaps, configMap("after", "x"));
    await expect.poll(() => parts.filter((part) => addressesOf(data)[part] === before[part]), limits).toEqual([]);
    api.close();
    mesh.child.kill("SIGTERM");
    expect(await mesh.exited).toBe(0);
    expect(mesh.stderr()).not.toContain("    at ");
    expect(readdirSync(data).filter((name) => name.includes(".new") || name.startsWith("lock"))).toEqual([]);
  } finally {
    mesh.child.kill("SIGTERM");
    await mesh.exited;
    spawnSync("umount", ["-l", disk]);
    rmdirSync(disk);
  }
});
