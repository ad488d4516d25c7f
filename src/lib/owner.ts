/** A process that owns something on the host: its id together with its start time, so that a reused id is another owner. */
import { readFileSync } from "node:fs";

export interface Owner {
  readonly pid: number;
  /** Clock ticks since boot at which it started, from /proc; "" where there is no /proc. */
  readonly started: string;
}

export function ownerOf(pid: number): Owner | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the command in parentheses and may hold spaces; count from after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : { pid, started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

export function isAlive(owner: Owner): boolean {
  return ownerOf(owner.pid)?.started === owner.started;
}
