/** Programs of this machine in; the shared libraries that they load out, each where a loader without a cache looks. */
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { type Entry, program } from "./entry.ts";

export function librariesOf(programs: readonly string[]): readonly Entry[] {
  const found = new Map<string, string>();
  for (const one of programs) {
    const { status, stdout, stderr } = spawnSync("ldd", [one], { encoding: "utf8" });
    if (status !== 0) throw new Error(`ldd ${one}: ${stderr.trim() || stdout.trim()}`);
    if (stdout.includes("not found")) throw new Error(`${one} lacks libraries on this machine:\n${stdout}`);
    for (const [, path = ""] of stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)) found.set(belowUsr(path), path);
  }
  return [...found].map(([path, from]) => program(path, realpathSync(from)));
}

/** The name that programs ask for is kept; /lib and /lib64 are links in the image. */
const belowUsr = (path: string): string => (path.startsWith("/usr/") ? path : `/usr${path}`);
