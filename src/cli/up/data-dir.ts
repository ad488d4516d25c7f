/** A path in; a data folder that is ours alone while we run out. */
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { FairleadError, isRecord, parseJson, systemCode } from "../../lib/index.ts";
import { isAlive, ownerOf } from "../../standalone/index.ts";

export interface DataDir {
  readonly path: string;
  /** Writes a file whole, private to the user. */
  write(name: string, content: string): void;
  unlock(): void;
}

export function defaultDataDir(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_DATA_HOME || join(env.HOME || homedir(), ".local/share"), "fairlead");
}

export function openDataDir(path: string): DataDir {
  const dir = makeDir(path);
  const lock = join(dir, "lock");
  const content = JSON.stringify(ownerOf(process.pid) ?? { pid: process.pid, started: "" });
  for (let tries = 0; ; tries++) {
    try {
      writeFileSync(lock, content, { flag: "wx", mode: 0o600 });
      break;
    } catch (cause) {
      if (systemCode(cause) !== "EEXIST") throw unusable(dir, cause);
      const owner = readOwner(lock);
      if ((owner && isAlive(owner)) || tries > 3)
        throw new FairleadError("locked", `${dir} is in use by process ${owner?.pid ?? "?"}`, {
          hint: "stop that one, or choose another folder with --data DIR",
          cause,
        });
      // Its owner is dead. Move it away first, so that of two who see this only one goes on.
      const stale = `${lock}.${process.pid}`;
      try {
        renameSync(lock, stale);
        rmSync(stale, { force: true });
      } catch {
        // Somebody else was quicker: look again.
      }
    }
  }
  return {
    path: dir,
    write(name, text) {
      const file = join(dir, name);
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },
    unlock: () => rmSync(lock, { force: true }),
  };
}

function makeDir(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  } catch (cause) {
    throw unusable(path, cause);
  }
}

function unusable(path: string, cause: unknown): FairleadError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new FairleadError("storage", `the data folder ${path} cannot be used: ${why}`, {
    hint: "choose another with --data DIR",
    cause,
  });
}

function readOwner(lock: string): { pid: number; started: string } | undefined {
  try {
    const value = parseJson(readFileSync(lock, "utf8"));
    if (isRecord(value) && typeof value.pid === "number" && typeof value.started === "string")
      return { pid: value.pid, started: value.started };
  } catch {
    // Cut short by a crash: nobody's.
  }
  return undefined;
}
