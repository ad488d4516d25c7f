/** A file's path in; a call whenever it may have changed out. */
import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Logger } from "../../lib/index.ts";

/** Watches the folder: Kubernetes changes mounted files by renaming a link beside them, and the file may not exist yet. */
export function watchFile(path: string, changed: () => void, log: Logger): () => void {
  const folder = dirname(path);
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(existsSync(folder) ? folder : "/", { persistent: false }, (_, file) => {
      if (file === null || file === basename(path) || file.startsWith("..data")) changed();
    });
    watcher.on("error", () => watcher?.close());
  } catch {
    log.warn("a secret's folder cannot be watched", { folder });
  }
  return () => watcher?.close();
}
