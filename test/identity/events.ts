/** What happens to a mesh while its certificates are renewed: roots are rotated, control planes end, or stay away. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { ChaosMesh } from "../chaos/mesh.ts";
import { eventually } from "../traffic/mesh.ts";

export interface Event {
  readonly name: string;
  act(say: (text: string) => void): Promise<void>;
}

export interface EventOptions {
  readonly mesh: ChaosMesh;
  readonly lifeMs: number;
  readonly roots: number;
  readonly restarts: number;
}

const healMs = 180_000;
const awayShare = 0.4;

/** In an order in which every kind comes early, and restarts lie between the others. */
export function identityEvents(options: EventOptions): readonly Event[] {
  const { mesh, lifeMs } = options;
  const rotations = [rotated(mesh), rolledBack(mesh), interrupted(mesh)].slice(0, options.roots);
  const restarts = Array.from({ length: options.restarts }, (_, i) =>
    restarted(mesh, i % 2 === 0 ? "SIGKILL" : "SIGTERM"),
  );
  const others = [...rotations, away(mesh, lifeMs * awayShare)];
  const between = Math.ceil(restarts.length / others.length);
  return others.flatMap((event, i) => [event, ...restarts.slice(i * between, (i + 1) * between)]);
}

function rotated(mesh: ChaosMesh): Event {
  return { name: "root rotation", act: async () => void (await rotateRoot(mesh)) };
}

function rolledBack(mesh: ChaosMesh): Event {
  return {
    name: "root rotation, rolled back while certificates are reissued",
    async act() {
      await rotateRoot(mesh, "--no-wait");
      await untilPhase(mesh, "reissue");
      await rotateRoot(mesh, "--rollback");
    },
  };
}

function interrupted(mesh: ChaosMesh): Event {
  return {
    name: "root rotation, kill -9 of the control plane while certificates are reissued",
    async act() {
      await rotateRoot(mesh, "--no-wait");
      await untilPhase(mesh, "reissue");
      process.kill(mesh.supervisor.controlPlanePid(), "SIGKILL");
      await rotateRoot(mesh, "--resume");
    },
  };
}

function restarted(mesh: ChaosMesh, signal: NodeJS.Signals): Event {
  return {
    name: `restart of the control plane (${signal})`,
    async act() {
      const before = mesh.supervisor.controlPlanePid();
      process.kill(before, signal);
      const isNext = (): boolean => {
        try {
          return mesh.supervisor.controlPlanePid() !== before;
        } catch {
          return false;
        }
      };
      await eventually(async () => isNext(), "the next control plane", healMs);
      await isWhole(mesh);
    },
  };
}

function away(mesh: ChaosMesh, ms: number): Event {
  return {
    name: `control plane away for ${ms / 1000} s`,
    async act() {
      const { supervisor } = mesh;
      for (const pid of [supervisor.pid(), supervisor.controlPlanePid()]) process.kill(pid, "SIGKILL");
      await sleep(ms);
      await supervisor.start();
      await isWhole(mesh);
    },
  };
}

const isWhole = (mesh: ChaosMesh): Promise<void> =>
  eventually(async () => (await mesh.missing()).length === 0, "the mesh to be whole", healMs);

/** As a user has it. */
async function rotateRoot(mesh: ChaosMesh, ...flags: readonly string[]): Promise<string> {
  const { entry } = mesh.bundles;
  const command = [
    entry,
    "ca",
    "rotate-root",
    "--kubeconfig",
    join(mesh.data, "kubeconfig"),
    "--timeout",
    "5m",
    ...flags,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: process.env });
  return stdout;
}

async function untilPhase(mesh: ChaosMesh, phase: string): Promise<void> {
  while (!(await rotateRoot(mesh, "--resume", "--no-wait")).startsWith(phase)) await sleep(100);
}
