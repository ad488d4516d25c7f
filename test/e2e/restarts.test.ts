/** Parts of joined processes that die: noticed, told, taken out of the endpoints, started again. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { lacks } from "../require.ts";
import { anyPort, type Started, startFairlead } from "./fairlead.ts";

const { pods, services, nodes, events, endpointSlices } = kubeKinds;
const server = `require("node:http").createServer((_, answer) => answer.end("hello")).listen(8000)`;
/** Processes are found by them: no other Pod of this machine has these names, or it would be the one that is killed. */
const [webName, takenName] = [`web-${process.pid}`, `taken-${process.pid}`];
const web = { name: webName, namespace: "default" };

/** Processes of a Pod by what is in their command line. */
function pidsOf(pod: string, ...words: readonly string[]): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const text = (pid: string, file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  return pids
    .filter((pid) => /\0(POD_NAME|HOSTNAME)=([^\0]*)/.exec(`\0${text(pid, "environ")}`)?.[2] === pod)
    .filter((pid) => words.every((word) => text(pid, "cmdline").includes(word)))
    .map(Number);
}

const kill = (pids: readonly number[]): void => {
  expect(pids).not.toEqual([]);
  for (const pid of pids) process.kill(pid, "SIGKILL");
};

const conditionOf = (object: KubeObject | undefined, type: string) =>
  readList(readRecord(object?.status).conditions)
    .map(readRecord)
    .find((condition) => condition.type === type);

describe.skipIf(lacks("root", "envoy", "iptables"))("parts that die", { timeout: 300_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-restarts-"));
  const running: Started[] = [];
  let api: KubeClient;
  beforeAll(async () => {
    const mesh = startFairlead(["up", "--data", data, ...anyPort], { MAX_WORKLOAD_CERT_TTL: "2h" });
    running.push(mesh);
    await mesh.until("ready\n");
    api = createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
  });
  afterAll(async () => {
    api.close();
    for (const one of running.splice(0).reverse()) {
      one.child.kill("SIGTERM");
      await one.exited;
    }
    rmSync(data, { recursive: true, force: true });
  });

  const run = (name: string, script: string, flags: readonly string[] = [], ttl = "1h"): Started => {
    const args = ["--data", data, "--name", name, "--port", "8000", ...flags];
    const started = startFairlead(["run", ...args, "--", process.execPath, "-e", script], { SECRET_TTL: ttl });
    running.push(started);
    return started;
  };
  const containers = async (name: string) =>
    new Map(
      readList(readRecord((await api.find(pods, { name, namespace: "default" }))?.status).containerStatuses)
        .map(readRecord)
        .map((status) => [status.name, status]),
    );
  const restarts = async (name: string): Promise<readonly unknown[]> => {
    const all = await containers(name);
    return ["app", "istio-proxy"].map((container) => all.get(container)?.restartCount);
  };
  const isReady = async (name: string): Promise<unknown> =>
    conditionOf(await api.find(pods, { name, namespace: "default" }), "Ready")?.status;
  const reasons = async (name: string): Promise<readonly string[]> =>
    (await api.list(events, { namespace: "default", fieldSelector: `involvedObject.name=${name}` })).items.map(
      (event) => `${event.reason} ${event.message}`,
    );

  test("a killed agent, process or Envoy is started again, counted and told; without process or Envoy its Pod has no ready endpoint", async () => {
    await api.create(services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: web,
      spec: { selector: { app: webName }, ports: [{ name: "http", port: 8000 }] },
    });
    run(webName, server);
    await expect.poll(() => isReady(webName), { timeout: 300_000 }).toBe("True");
    const address = `http://${readRecord((await api.get(pods, web)).status).podIP}`;
    const ready: unknown[] = [];
    const watching = new AbortController();
    const { resourceVersion } = await api.list(endpointSlices, { namespace: "default" });
    const watched = (async () => {
      for await (const event of api.watch(endpointSlices, {
        resourceVersion,
        stallMs: 60_000,
        signal: watching.signal,
      }))
        if ("object" in event)
          ready.push(readRecord(readRecord(readList(readRecord(event.object).endpoints)[0]).conditions).ready);
    })().catch(() => {});
    // An agent that dies leaves its Envoy, with its certificate, to the next: its Pod stays ready.
    const [envoy] = pidsOf(webName, "envoy-rev.json");
    kill(pidsOf(webName, "agent", "proxy"));
    await expect.poll(() => restarts(webName), { timeout: 300_000 }).toEqual([0, 1]);
    await expect
      .poll(async () => readRecord((await containers(webName)).get("istio-proxy")?.state).running, { timeout: 300_000 })
      .toBeDefined();
    await expect
      .poll(
        () =>
          fetch(`${address}:15020/healthz/ready`).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: 300_000 },
      )
      .toBe(true);
    expect(pidsOf(webName, "envoy-rev.json")).toEqual([envoy]);
    expect(await (await fetch(`${address}:8000/`)).text()).toBe("hello");
    expect(ready).not.toContain(false);
    for (const [part, counts] of [
      [() => pidsOf(webName, "-e", "createServer"), [1, 1]],
      [() => pidsOf(webName, "envoy-rev.json"), [1, 2]],
    ] as const) {
      ready.splice(0);
      kill(part());
      await expect.poll(() => ready.includes(false), { timeout: 300_000 }).toBe(true);
      await expect.poll(() => ready.at(-1), { timeout: 300_000 }).toBe(true);
      expect(await isReady(webName)).toBe("True");
      expect(await restarts(webName)).toEqual(counts);
    }
    watching.abort();
    await watched;
    for (const text of [
      /^Scheduled/,
      /^Started/,
      /^Exited Container app was ended by signal 9/,
      /^Exited Container istio-proxy/,
    ])
      await expect.poll(() => reasons(webName)).toContainEqual(expect.stringMatching(text));
  });

  test("a runner that was killed leaves its process serving, whoever comes and goes, also when the next of its name takes its place", async () => {
    const first = run(takenName, server);
    await expect.poll(() => isReady(takenName), { timeout: 60_000 }).toBe("True");
    const uid = async (): Promise<string | undefined> =>
      (await api.find(pods, { name: takenName, namespace: "default" }))?.metadata.uid;
    const podAddress = async (): Promise<unknown> =>
      readRecord((await api.get(pods, { name: takenName, namespace: "default" })).status).podIP;
    const [before, address, left] = [await uid(), await podAddress(), pidsOf(takenName, "-e", "createServer")];
    first.child.kill("SIGKILL");
    await first.exited;
    const passing = run(`passing-${process.pid}`, "process.exit(0)", ["--restart", "Never"]);
    expect(await passing.exited, passing.stderr()).toBe(0);
    expect(pidsOf(takenName, "-e", "createServer")).toEqual(left);
    const next = run(takenName, server);
    await expect.poll(() => next.stderr(), { timeout: 60_000 }).toContain(`default/${takenName} is ready`);
    expect(await uid()).not.toBe(before);
    // Those who have not heard of it yet are still answered.
    const now = pidsOf(takenName, "-e", "createServer");
    expect(now).toEqual(expect.arrayContaining([...left]));
    expect(now.length).toBe(2 * left.length);
    expect(await podAddress()).not.toBe(address);
  });

  test("a process that goes on failing is in CrashLoopBackOff, with the last lines of its log", async () => {
    const started = run("broken", `console.error("no such database"); process.exit(3)`);
    const state = async (): Promise<unknown> => readRecord((await containers("broken")).get("app")).state;
    await expect.poll(state, { timeout: 300_000 }).toMatchObject({ waiting: { reason: "CrashLoopBackOff" } });
    const status = readRecord((await containers("broken")).get("app"));
    expect(readRecord(status.lastState).terminated).toMatchObject({
      exitCode: 3,
      message: expect.stringContaining("no such database"),
    });
    await expect.poll(() => reasons("broken")).toContainEqual(expect.stringMatching(/^BackOff/));
    expect(started.stderr()).toContain("Container app ended with 3");
    const table = spawnSync("kubectl", ["--kubeconfig", join(data, "kubeconfig"), "get", "pod", "broken"]);
    if (table.status === 0) expect(String(table.stdout)).toMatch(/1\/2 +(CrashLoopBackOff|Error) +[1-9]/);
  });

  test("with --restart Never the command ends as its process does, and the Pod goes", async () => {
    const started = run("once", `require("node:net").createServer().listen(8000, () => process.exit(7))`, [
      "--restart",
      "Never",
    ]);
    expect(await started.exited).toBe(7);
    expect(await api.find(pods, { name: "once", namespace: "default" })).toBeUndefined();
  });

  test("the life of certificates is set through the environment of up and run, and never longer than the longest", async () => {
    run("long", server, [], "3h");
    const log = (): string => readFileSync(join(data, "logs/control-plane.log"), "utf8");
    await expect.poll(log, { timeout: 300_000 }).toContain("exceeds the maximum of 7200 s");
    const issued = [...log().matchAll(/^(\S+)\t.*certificate issued.*sa\/default\t.*until=(\S+)/gm)];
    const livesMs = issued.map(([, at = "", until = ""]) => Date.parse(until) - Date.parse(at));
    expect(livesMs).not.toEqual([]);
    for (const ms of livesMs) expect(Math.abs(ms - 3_600_000)).toBeLessThan(60_000);
  });

  test("a command or policy that is none is refused before a Pod is made", async () => {
    const flags = ["run", "--data", data, "--name", "none", "--port", "1"];
    for (const [args, text] of [
      [[...flags, "--", "no-such-command"], "no such command"],
      [[...flags, "--restart", "Sometimes", "--", "true"], "no restart policy"],
    ] as const) {
      const started = startFairlead(args);
      expect(await started.exited).toBe(2);
      expect(started.stderr()).toContain(text);
    }
    expect(await api.find(pods, { name: "none", namespace: "default" })).toBeUndefined();
  });

  test("the node is ready; a Pod with an image says why it waits", async () => {
    expect(conditionOf(await api.get(nodes, { name: "localhost" }), "Ready")?.status).toBe("True");
    const metadata = { name: "image", namespace: "default" };
    const spec = { containers: [{ name: "nginx", image: "nginx" }] };
    await api.create(pods, { apiVersion: "v1", kind: "Pod", metadata, spec });
    const scheduled = async () => conditionOf(await api.find(pods, metadata), "PodScheduled");
    await expect.poll(scheduled).toMatchObject({ status: "False", message: expect.stringContaining("fairlead run") });
    await expect.poll(() => reasons("image")).toMatchObject([expect.stringMatching(/^FailedScheduling/)]);
  });
});
