/** The folder of the built page in; its files, by the path that a browser asks for, out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pagePaths } from "../page-paths.ts";

export interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
}

const files: ReadonlyMap<string, readonly [file: string, type: string]> = new Map<string, readonly [string, string]>([
  ...pagePaths.map((path) => [path, ["index.html", "text/html; charset=utf-8"]] as const),
  ["/assets/app.js", ["app.js", "text/javascript; charset=utf-8"]],
  ["/assets/app.css", ["app.css", "text/css; charset=utf-8"]],
  ["/assets/icon.svg", ["icon.svg", "image/svg+xml"]],
]);

/** A fixed list, never a path of the folder that somebody asks for. Read once: a build beside does not mix into it. */
export function loadAssets(folder: string): (path: string) => Asset | undefined {
  const read = new Map<string, Uint8Array>();
  return (path) => {
    const [file, type] = files.get(path) ?? [];
    if (file === undefined || type === undefined) return undefined;
    const body = read.get(file) ?? readFileSync(join(folder, file));
    read.set(file, body);
    return { type, body };
  };
}
