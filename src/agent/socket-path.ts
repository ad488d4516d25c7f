/** A socket's path below the work folder in; a path that the kernel takes out. */
import { relative, resolve } from "node:path";

/** Socket paths may have 107 bytes, so the shorter way to the same place is taken. */
export function shortestPath(workDir: string, path: string): string {
  const absolute = resolve(workDir, path);
  const here = relative(process.cwd(), absolute);
  return here.length < absolute.length ? here : absolute;
}
