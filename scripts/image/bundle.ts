/** A built checkout in; what its bundle consists of out, as the bundler wrote it down. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Bundle {
  /** Below `dist`. */
  readonly files: readonly string[];
  /** Names of the npm packages whose code is in it. */
  readonly packages: readonly string[];
}

export function readBundle(root: string): Bundle {
  return JSON.parse(readFileSync(join(root, "dist/bundle.json"), "utf8"));
}
