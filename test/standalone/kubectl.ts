/** A real API with one Pod that this process runs, and a kubectl of its own, for tests of what reaches into Pods. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { type HostedPod, type PodServer, servePod } from "../../src/standalone/kubelet/pod-server.ts";

export interface PodApi {
  readonly api: TestApi;
  readonly podDir: string;
  /** Makes a Pod and runs it, as far as the API can tell. */
  host(name: string, containers: readonly string[], pod: Partial<HostedPod>): Promise<string>;
  /** Runs a Pod that is there. */
  serve(namespace: string, name: string, pod: Partial<HostedPod>): Promise<void>;
  close(): Promise<void>;
}

export async function startPodApi(): Promise<PodApi> {
  const dataDir = mkdtempSync(join(tmpdir(), "fairlead-streams-"));
  const podDir = join(dataDir, "run", "pods");
  const api = await startApi({ dataDir, podDir });
  const servers: PodServer[] = [];
  await api.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const run = async (name: string, uid: string, pod: Partial<HostedPod>): Promise<void> => {
    const nothing = {
      connect: () => Promise.reject(new Error("no port")),
      log: () => undefined,
      spawner: () => undefined,
      processes: () => new Map(),
    };
    servers.push(await servePod(podDir, { ...nothing, ...pod, name, uid }, silentLogger));
  };
  return {
    api,
    podDir,
    async serve(namespace, name, pod) {
      const found = await api.call("GET", `/api/v1/namespaces/${namespace}/pods/${name}`);
      await run(name, (found.body.metadata as { uid: string }).uid, pod);
    },
    async host(name, containers, pod) {
      const spec = { nodeName: "localhost", containers: containers.map((one) => ({ name: one, image: "none" })) };
      const made = await api.call("POST", "/api/v1/namespaces/default/pods", { metadata: { name }, spec });
      const { uid } = made.body.metadata as { uid: string };
      await api.call(
        ...(["PATCH", `/api/v1/namespaces/default/pods/${name}/status`] as const),
        { status: { phase: "Running" } },
        "application/merge-patch+json",
      );
      await run(name, uid, pod);
      return uid;
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
      await api.close();
    },
  };
}

export interface Forwarding {
  readonly port: number;
  /** What kubectl has said so far. */
  said(): string;
  stop(): Promise<void>;
}

/** `kubectl port-forward`, once it listens. */
export async function forward(
  api: Pick<TestApi, "dir" | "kubeconfig">,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Forwarding> {
  const child: ChildProcess = spawn("kubectl", ["port-forward", "--address", "127.0.0.1", ...args], {
    env: { PATH: process.env.PATH, HOME: api.dir, KUBECONFIG: api.kubeconfig, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const port = await new Promise<number>((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      text += chunk;
      const found = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    child.once("exit", (code) => reject(new Error(`kubectl ended with ${code}: ${text}`)));
  });
  return {
    port,
    said: () => text,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}
