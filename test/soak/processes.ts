/** Processes in; what each holds of the machine out. */
import { readdirSync, readFileSync } from "node:fs";

export interface Usage {
  /** Resident memory of its own: without files that it has mapped, such as the store. */
  readonly bytes: number;
  readonly fds: number;
}

/** Undefined where there is no such process. */
export function usageOf(pid: number): Usage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kilobytes = Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
    return { bytes: kilobytes * 1024, fds: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}
