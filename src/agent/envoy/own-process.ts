/** Processes of this machine in; those that are an Envoy of this proxy out. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { type Owner, ownerOf } from "../../lib/index.ts";

export interface EnvoyPlace {
  readonly configFile: string;
  readonly workDir: string;
}

/** Whether it was started with that bootstrap. */
export function isStartedWith(pid: number, configFile: string): boolean {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return args.includes("-c") && args[args.indexOf("-c") + 1] === configFile;
  } catch {
    return false;
  }
}

/** Also those that nobody wrote down. In containers the bootstrap's path is the same for all: the folder tells them apart. */
export function findEnvoys({ configFile, workDir }: EnvoyPlace): readonly Owner[] {
  const pids = listProcesses().filter((pid) => isStartedWith(pid, configFile) && livesIn(pid, workDir));
  return pids.flatMap((pid) => ownerOf(pid) ?? []);
}

function livesIn(pid: number, folder: string): boolean {
  try {
    const [own, theirs] = [statSync(folder), statSync(`/proc/${pid}/cwd`)];
    return own.dev === theirs.dev && own.ino === theirs.ino;
  } catch {
    // It has ended, or we may not look: then it is not ours to end.
    return false;
  }
}

function listProcesses(): readonly number[] {
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    // A system without /proc.
    return [];
  }
}
