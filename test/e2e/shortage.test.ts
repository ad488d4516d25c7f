/** Real limits on open files and on the heap: what cannot be served is told so, what is there goes on, and all comes back. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { get } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { apiStatus, createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { addressesOf, anyPort, type Started, startFairlead } from "./fairlead.ts";

const { configMaps, events, namespaces } = kubeKinds;
const work = mkdtempSync(join(tmpdir(), "fairlead-shortage-"));
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function up(name: string, env: Record<string, string>, under: readonly string[] = []) {
  const data = join(work, name);
  const started: Started = startFairlead(["up", "--data", data, ...anyPort], env, under);
  ends.push(async () => {
    started.child.kill("SIGTERM");
    expect(await started.exited).toBe(0);
  });
  await started.until("ready\n");
  const access = await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} });
  const api: KubeClient = createKubeClient(access);
  ends.push(() => api.close());
  const said = async (): Promise<readonly string[]> =>
    (await api.list(events, { namespace: "istio-system", limit: 100 })).items.map((event) => `${event.reason}`);
  return { data, started, api, access, said };
}

const portOf = (data: string, name: string): number => Number(String(addressesOf(data)[name]).split(":")[1]);

/** Connections that never say a word. */
async function crowd(port: number, size: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: size }, () => connect(port, "127.0.0.1").on("error", () => {}));
  ends.push(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])));
  // Connected is what the kernel says; that the process took them up shows when it sends one away.
  await Promise.race(sockets.map((socket) => socket.closed || once(socket, "close")));
  return sockets;
}

describe("256 open files", { timeout: 300_000 }, () => {
  test("who comes is told to come back or makes the idle go, who is there stays, and it is told, counted and over", async () => {
    const limited = ["bash", "-c", 'ulimit -n 256; exec "$@"', "bash"];
    const { data, started, api, access, said } = await up("files", {}, limited);
    const ask = (): Promise<number> =>
      new Promise((resolve) => {
        const [host, port] = ["127.0.0.1", portOf(data, "api")];
        get({ host, port, path: "/livez", ...(access.ca ? { ca: access.ca } : {}), agent: false }, (answer) => {
          answer.resume();
          if (answer.statusCode === 503) expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
          resolve(answer.statusCode ?? 0);
        }).on("error", () => resolve(0));
      });
    const atRest = await ask();
    expect(atRest).toBeGreaterThan(0);
    // A connection that is in use.
    const { resourceVersion } = await api.list(namespaces);
    const watching = new AbortController();
    ends.push(() => watching.abort());
    const watched = api.watch(namespaces, { resourceVersion, stallMs: 60_000, signal: watching.signal });
    void (async () => {
      for await (const _ of watched);
    })().catch(() => {});
    for (const name of ["api", "http", "secureGrpc"]) {
      const sockets = await crowd(portOf(data, name), 300);
      // While the crowd is fresh it is not sent away, and those on new connections hear so or are cut off.
      expect((await api.get(namespaces, { name: "default" })).metadata.name).toBe("default");
      // Soon those that said nothing are: whoever has something to say gets in.
      if (name === "api") await expect.poll(ask, { timeout: 300_000 }).toBe(atRest);
      for (const socket of sockets) socket.destroy();
    }
    const text = (): string => readFileSync(join(data, "logs/api.log"), "utf8");
    expect(text().match(/file descriptors run out \(at most 256\).*ulimit -n/g)).toHaveLength(1);
    await expect.poll(started.stderr).toMatch(/control-plane\].*file descriptors run out/);
    await expect.poll(said, { timeout: 300_000 }).toContain("DescriptorPressure");
    // The control plane may still be short of them, and then cuts who comes.
    const metrics = (): Promise<string> =>
      fetch(`http://${addressesOf(data)["monitoring"]}/metrics`).then((answer) => answer.text(), String);
    await expect.poll(metrics).toContain("process_max_fds 256");
    await expect.poll(metrics).toMatch(/fairlead_shed_total\{what="connection",cause="descriptors"\} [1-9]/);
    await expect.poll(ask).toBe(atRest);
    expect(addressesOf(data)["restarts"]).toEqual({ api: 0, controlPlane: 0, ...edge(data) });
  });
});

/** There is one only where there is a mesh network. */
const edge = (data: string): object => ("edgePid" in addressesOf(data) ? { edge: 0 } : {});

describe("a small heap", { timeout: 300_000 }, () => {
  const bigMap = (name: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
    data: { text: "x".repeat(200_000) },
  });

  test("the API takes nothing more before it is full, says so, and goes on when objects are deleted", async () => {
    const { api, said, data } = await up("heap", { NODE_OPTIONS: "--max-old-space-size=48 --max-semi-space-size=1" });
    let made = 0;
    const refusal = await (async () => {
      for (; made < 2000; made++)
        try {
          await api.create(configMaps, bigMap(`big-${made}`));
        } catch (error) {
          return apiStatus(error);
        }
      return undefined;
    })();
    expect(refusal).toMatchObject({ code: 429, reason: "TooManyRequests", retryAfterMs: expect.any(Number) });
    await expect.poll(said).toContain("MemoryPressure");
    expect((await api.get(configMaps, { name: "big-0", namespace: "default" })).metadata.name).toBe("big-0");
    for (let i = 0; i < made; i++) await api.delete(configMaps, { name: `big-${i}`, namespace: "default" });
    await expect
      .poll(
        () =>
          api.create(configMaps, bigMap("after")).then(
            () => true,
            () => false,
          ),
        { timeout: 300_000, interval: 500 },
      )
      .toBe(true);
    expect(addressesOf(data)["restarts"]).toMatchObject({ api: 0 });
  });

  test("a control plane that dies of it again and again does not end up; with more it serves", async () => {
    const started = startFairlead(["up", "--data", join(work, "tiny"), ...anyPort], {
      NODE_OPTIONS: "--max-old-space-size=24 --max-semi-space-size=1",
    });
    ends.push(async () => {
      started.child.kill("SIGTERM");
      await started.exited;
    });
    const deaths = (): number =>
      started.stderr().match(/the control plane ended with SIGABRT.*ran out of memory.*--max-old-space-size/g)
        ?.length ?? 0;
    await expect.poll(deaths, { timeout: 300_000, interval: 200 }).toBeGreaterThan(1);
    expect(started.child.exitCode).toBeNull();
    started.child.kill("SIGTERM");
    expect(await started.exited).toBe(130);
    await up("tiny", {});
  });
});
