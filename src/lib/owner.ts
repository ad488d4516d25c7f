/** A process that owns something on the host: its id together with its start time, so that a reused id is another owner. */
import { readFileSync } from "node:fs";

export interface Owner {
  readonly pid: number;
  /** Clock ticks since boot at which it started, from /proc, as all time namespaces see it; "" where there is no /proc. */
  readonly started: string;
}

export function ownerOf(pid: number): Owner | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the command in parentheses and may hold spaces; count from after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : { pid, started: fromFirstNamespace(fields[19] ?? "") };
  } catch {
    return undefined;
  }
}

/** The kernel tells each reader in its own time: two in different time namespaces would take each other for dead. */
function fromFirstNamespace(ticks: string): string {
  ticksAhead ??= readTicksAhead();
  return ticksAhead === 0 || ticks === "" ? ticks : String(Number(ticks) - ticksAhead);
}

let ticksAhead: number | undefined;
/** What user space is told, whatever the kernel counts in. */
const ticksPerSecond = 100;

function readTicksAhead(): number {
  try {
    const [, seconds = 0, nanoseconds = 0] =
      /^boottime\s+(-?\d+)\s+(\d+)/m.exec(readFileSync("/proc/self/timens_offsets", "utf8")) ?? [];
    return Math.round((Number(seconds) + Number(nanoseconds) / 1e9) * ticksPerSecond);
  } catch {
    // A kernel without time namespaces.
    return 0;
  }
}

export function isAlive(owner: Owner): boolean {
  return ownerOf(owner.pid)?.started === owner.started;
}
