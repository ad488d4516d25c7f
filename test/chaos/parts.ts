/** A Pod's network namespace in; the processes of its parts out. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export type Part = "app" | "agent" | "envoy";

const marks: Readonly<Record<Part, readonly string[]>> = {
  app: ["-process.ts"],
  agent: ["\0agent\0proxy\0"],
  envoy: ["envoy-rev.json"],
};

/** The shells that enter the namespace carry the whole command too. */
const wrappers = new Set(["nsenter", "unshare", "sh", "setpriv"]);

export function partPids(namespace: string, part: Part): readonly number[] {
  const listed = execFileSync("ip", ["netns", "pids", namespace], { encoding: "utf8" });
  const pids = listed.split("\n").map(Number);
  return pids.filter((pid) => {
    const command = pid > 1 ? commandOf(pid) : "";
    const [program = ""] = command.split("\0");
    return !wrappers.has(program) && marks[part].some((mark) => command.includes(mark));
  });
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
