/** A folder in; the CA that users have put there (a mounted Secret `cacerts`) out, as it changes. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { caFilesOf } from "../ca/index.ts";
import type { CaFolder } from "../control-plane/index.ts";
import { readBoundedFile } from "../lib/index.ts";

/** Looked at rather than watched: the folder may come later, be a mount, or be replaced as a whole. */
const lookMs = 2000;
/** Larger than any CA with its chain and its lists. */
const maxFileBytes = 1024 * 1024;

export function pluggedCaFolder(path: string): CaFolder {
  const read = (name: string): string => {
    const file = join(path, name);
    return existsSync(file) ? readBoundedFile(file, maxFileBytes) : "";
  };
  return {
    path,
    read: () => caFilesOf(read),
    watch(changed) {
      const timer = setInterval(changed, lookMs).unref();
      return () => clearInterval(timer);
    },
  };
}
