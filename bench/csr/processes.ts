/** A process in; those that it has started, by the command that they run, out: what processor time they took, and on which core they run. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What Linux counts processor time in. */
const ticksPerSecond = 100;

/** The process itself, and its children and theirs, by command: `up`, `api`, `discovery`, `edge`. */
export function processesOf(pid: number): ReadonlyMap<string, number> {
  const own = [[commandOf(pid), pid] as const];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return new Map([...children.flatMap((child) => [...processesOf(child)]), ...own]);
}

function commandOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  return words[words.findIndex((word) => word.endsWith("main.js")) + 1] ?? "";
}

/** Of all of its threads. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Behind the name, which may have blanks: user and system time are the 14th and 15th field.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

/** All of its threads on one core; throws where there is no `taskset`. */
export function pin(pid: number, core: number): void {
  const { status, error, stderr } = spawnSync("taskset", ["-a", "-c", "-p", String(core), String(pid)]);
  if (status !== 0) throw new Error(`taskset cannot pin process ${pid}: ${error?.message ?? stderr.toString()}`);
}
