/** What a `fairlead run` that was killed has left, on the embedded API. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../src/kube/index.ts";
import { type Owner, ownerOf, silentLogger } from "../../src/lib/index.ts";
import { openJournal, runnerJournal, standaloneKinds, sweepAbandoned } from "../../src/standalone/index.ts";

const { pods, leases, runnerAnnotation } = standaloneKinds;
const runDir = mkdtempSync(join(tmpdir(), "fairlead-abandoned-"));
const leftovers: ChildProcess[] = [];
let api: TestApi;
let client: KubeClient;
beforeAll(async () => {
  api = await startApi({});
  client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
});
afterAll(async () => {
  for (const child of leftovers) child.kill("SIGKILL");
  client.close();
  await api.close();
  rmSync(runDir, { recursive: true });
});

const started = async (): Promise<{ readonly child: ChildProcess; readonly owner: Owner }> => {
  const child = spawn("sleep", ["600"], { detached: true });
  await once(child, "spawn");
  const owner = ownerOf(child.pid ?? 0);
  if (!owner) throw new Error("it does not live");
  return { child, owner };
};

/** A runner that was killed, with its Pod, its lease and the process that it has left. */
async function killedRunner(name: string): Promise<ChildProcess> {
  const [runner, left] = [await started(), await started()];
  leftovers.push(left.child);
  const ended = once(runner.child, "exit");
  runner.child.kill("SIGKILL");
  await ended;
  openJournal(runDir, runnerJournal(runner.owner.pid), runner.owner).add({ kind: "process", process: left.owner });
  const lease = `run-${name}`;
  const metadata = { name, namespace: "default", annotations: { [runnerAnnotation]: lease } };
  const spec = { nodeName: "localhost", containers: [{ name: "app", image: "x" }] };
  await client.create(pods, { apiVersion: "v1", kind: "Pod", metadata, spec });
  const holderIdentity = `fairlead-run-${runner.owner.pid}-${runner.owner.started}`;
  await client.create(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: lease, namespace: "default" },
    spec: { holderIdentity },
  });
  return left.child;
}

test("is swept when it has no Pod, though its lease stays; not before, and never while the API is away", async () => {
  const [left, other] = [await killedRunner("store"), await killedRunner("web")];
  const stop = new AbortController();
  let [isAway, looks] = [true, 0];
  const list: KubeClient["list"] = (...asked) => {
    looks++;
    return isAway ? Promise.reject(new Error("the API is away")) : client.list(...asked);
  };
  const sweeping = sweepAbandoned({ runDir, client: { ...client, list }, log: silentLogger }, stop.signal, 5);
  const untilLooked = async (): Promise<void> => {
    const before = looks;
    await expect.poll(() => looks, { interval: 5, timeout: 60_000 }).toBeGreaterThan(before + 8);
  };
  const lives = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;
  await untilLooked();
  isAway = false;
  await untilLooked();
  expect([left, other].map(lives)).toEqual([true, true]);
  const gone = once(left, "exit");
  await client.delete(pods, { name: "store", namespace: "default" }, { gracePeriodSeconds: 0 });
  expect((await gone)[1]).toBe("SIGKILL");
  await untilLooked();
  expect(lives(other)).toBe(true);
  stop.abort();
  await sweeping;
});
