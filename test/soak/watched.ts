/** A mesh in; the processes whose memory is watched, and what each holds, out. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { wait } from "../../src/lib/index.ts";
import type { ChaosMesh } from "../chaos/mesh.ts";
import { liveBytes } from "./live.ts";

export interface Watched {
  readonly name: string;
  readonly pid: number;
  /** Of its network, where it has one of its own. */
  readonly namespace?: string;
}

/** The agents of those servers that nobody kills. */
const agents = ["web-1", "api-1", "brief-1", "client"];

export async function watchedProcesses(mesh: ChaosMesh): Promise<readonly Watched[]> {
  const { supervisor, workloads } = mesh;
  const pods = await Promise.all(agents.filter((name) => workloads.has(name)).map((name) => mesh.pod(name)));
  return [
    { name: "up", pid: supervisor.pid() },
    { name: "API", pid: supervisor.apiPid() },
    { name: "control plane", pid: supervisor.controlPlanePid() },
    { name: "edge", pid: supervisor.edgePid() },
    ...pods.map((pod) => ({
      name: `agent of ${pod.name}`,
      pid: mesh.pids(pod, "agent")[0] ?? 0,
      namespace: pod.namespace,
    })),
  ];
}

/** After garbage was collected, in bytes; undefined for one that could not be asked. */
export async function liveOfAll(watched: readonly Watched[]): Promise<readonly (number | undefined)[]> {
  const found: (number | undefined)[] = [];
  for (const { pid, namespace } of watched) found.push(await liveBytes(pid, namespace));
  return found;
}

/** Those of which heaps are compared: they write one when they are told to. */
export const withSnapshots = (watched: readonly Watched[]): readonly Watched[] => watched.slice(0, 3);

export const snapshotOptions = (dir: string): string => `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dir}`;

/** The file, once it is whole: it is written while the process does nothing else. */
export async function snapshot(mesh: ChaosMesh, { pid }: Watched, dir: string): Promise<string> {
  const known = new Set(readdirSync(dir));
  process.kill(pid, "SIGUSR2");
  for (;;) {
    await wait(1_000);
    const fresh = readdirSync(dir).find((name) => !known.has(name));
    if (fresh !== undefined && (await mesh.missing()).length === 0) return join(dir, fresh);
  }
}
