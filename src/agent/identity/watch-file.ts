/** A file's path in; a call whenever it may have changed out. Neither it nor its folder need exist yet, and both may be replaced. */
import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { FairleadError, type Logger } from "../../lib/index.ts";

/**
 * Folders are watched, not the file: Kubernetes changes mounted files by renaming a link beside them. Of the folders on the
 * way there it is the last that exists, and the one above it, where it would be replaced.
 */
export function watchFile(path: string, changed: () => void, log: Logger): () => void {
  const file = resolve(path);
  const folder = dirname(file);
  let watchers: readonly FSWatcher[] = [];
  let stopped = false;
  const close = (): void => {
    for (const watcher of watchers) watcher.close();
    watchers = [];
  };
  const listen = (at: string, heard: (name: string | null) => void): FSWatcher =>
    watch(at, { persistent: false }, (_, name) => heard(name)).on("error", follow);
  /** A name on the way has come, gone or been replaced: what is watched may be the wrong folder now. */
  function moved(): void {
    follow();
    changed();
  }
  function follow(): void {
    close();
    if (stopped) return;
    const last = lastFolder(folder);
    const next = last === folder ? undefined : nextName(last, folder);
    const own = (name: string | null): void => {
      if (!existsSync(last) || (next !== undefined && (name === null || name === next))) moved();
      else if (next === undefined && (name === null || name === basename(file) || name.startsWith("..data"))) changed();
    };
    try {
      const above = dirname(last);
      const upper = (name: string | null): void => {
        if (name === null || name === basename(last)) moved();
      };
      watchers = [listen(last, own)];
      if (above !== last) watchers = [...watchers, listen(above, upper)];
    } catch (error) {
      // Gone between the look and the watch; who cannot be watched stays there and is told of.
      if (existsSync(last)) log.warn("a secret's folder cannot be watched", { folder: last, cause: causeOf(error) });
    }
    // What came meanwhile told nobody.
    if (lastFolder(folder) !== last) follow();
  }
  follow();
  return () => {
    stopped = true;
    close();
  };
}

/** The folder, or the nearest above it that exists. */
function lastFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && at !== dirname(at)) at = dirname(at);
  return at;
}

/** The next step from a folder down to another. */
function nextName(from: string, to: string): string {
  let at = to;
  while (dirname(at) !== from) at = dirname(at);
  return basename(at);
}

const causeOf = (error: unknown): string => FairleadError.from(error).message;
