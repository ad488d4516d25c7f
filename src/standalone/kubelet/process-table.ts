/** Processes of this machine in; whose they are, and what they use of processor and memory, out. Linux alone has them here. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** A clock tick of Linux' counts, whatever the machine. */
const ticksPerSecond = 100;

/** Empty where the kernel has no such file, or the process is gone. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function allProcesses(): readonly number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Those in this network namespace, which a Pod's processes share and others do not; by user. */
export function processesInNetwork(path: string): readonly { readonly pid: number; readonly uid: number }[] {
  const namespace = `net:[${inodeOf(path)}]`;
  return allProcesses().flatMap((pid) => {
    if (linkOf(pid) !== namespace) return [];
    const uid = /^Uid:\s+(\d+)/m.exec(read(pid, "status"))?.[1];
    return uid === undefined ? [] : [{ pid, uid: Number(uid) }];
  });
}

/** What it has started, and what these have; not what has been left behind by a parent that is gone. */
export function descendantsOf(pid: number): readonly number[] {
  const found: number[] = [];
  for (let next: number | undefined = pid, at = 0; next !== undefined; next = found[at++])
    for (const child of read(next, `task/${next}/children`).split(" "))
      if (Number(child) > 0) found.push(Number(child));
  return found;
}

function inodeOf(path: string): number {
  try {
    return statSync(path).ino;
  } catch {
    return -1;
  }
}

function linkOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return "";
  }
}

/**
 * Seconds of processor that these have had, with those of children that have ended: what a child had is its parent's
 * once it is gone, so nothing counts twice.
 */
export function processorSeconds(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    // The name, which may hold anything, is in parentheses.
    const fields = read(pid, "stat")
      .replace(/^.*\)\s*/s, "")
      .split(" ");
    return fields.slice(11, 15).reduce((sum, field) => sum + (Number(field) || 0), 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / ticksPerSecond;
}

/** Memory that is theirs; of what many share, each has its part. */
export function memoryBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + shareOf(pid), 0);
}

function shareOf(pid: number): number {
  const kibibytes = /^Pss:\s+(\d+) kB/m.exec(read(pid, "smaps_rollup"))?.[1];
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(kibibytes === undefined ? read(pid, "status") : "")?.[1];
  return Number(kibibytes ?? resident ?? 0) * 1024;
}
